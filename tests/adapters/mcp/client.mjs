// The official TypeScript client against a server on stdio: what it is told to do in, what came of it out, as JSON.
//
//   node client.mjs PACKAGE MODE CALLS COMMAND ARGUMENT…
//
// CALLS: a list of {tool, arguments, cancelAt}. `cancelAt`: a file; the call is cancelled when it is there.
import { existsSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';

const [where, mode, calls, command, ...args] = process.argv.slice(2);
const { Client } = await import(pathToFileURL(`${where}/dist/index.mjs`).href);
const { StdioClientTransport } = await import(pathToFileURL(`${where}/dist/stdio.mjs`).href);

const asked = [];
const client = new Client(
  { name: 'typescript', version: '2' },
  {
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode: mode === 'legacy' ? 'legacy' : { pin: mode } },
  },
);
client.setRequestHandler('elicitation/create', async (request) => {
  asked.push(request.params.message);
  return { action: 'accept', content: {} };
});
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' }));
const { tools } = await client.listTools();

const results = [];
for (const call of JSON.parse(calls)) {
  const progress = [];
  const stop = new AbortController();
  if (call.cancelAt) {
    const look = () => existsSync(call.cancelAt) && stop.abort('enough');
    watch(dirname(call.cancelAt), look);
    look();
  }
  try {
    const result = await client.callTool(
      { name: call.tool, arguments: call.arguments },
      { signal: stop.signal, onprogress: (each) => progress.push(each.message) },
    );
    results.push({ ...result, progress });
  } catch (error) {
    results.push({ failed: String(error), progress });
  }
}
console.log(JSON.stringify({ version: client.getNegotiatedProtocolVersion(), tools: tools.map((tool) => tool.name), asked, results }));
await client.close();
process.exit(0);
