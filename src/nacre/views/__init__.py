"""Views: a Result in, what somebody reads of it out."""
