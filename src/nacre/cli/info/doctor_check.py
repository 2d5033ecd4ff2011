"""Result of one check of `nacre doctor`."""

from __future__ import annotations

from typing import Literal

from nacre.base.frozen import frozen


@frozen
class Check:
    name: str
    status: Literal["ok", "missing", "failed", "low", "untested", "off", "on"]
    detail: str = ""
    remedy: str = ""

    def to_dict(self) -> dict[str, str]:
        return {"name": self.name, "status": self.status, "detail": self.detail, "remedy": self.remedy}
