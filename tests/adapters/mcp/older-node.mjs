// The conformance suite imports `fs.globSync`, which Node has since version 22, for a command that is not used here.
// On an older one it is given one that fails when it is called.
import fs from 'node:fs';
import { register } from 'node:module';

const module = (text) => `data:text/javascript,${encodeURIComponent(text)}`;

if (!fs.globSync) {
  const complete = module(`
    export * from 'node:fs';
    export { default } from 'node:fs';
    export const globSync = () => { throw new Error('fs.globSync needs Node 22'); };
  `);
  register(
    module(`
      export async function resolve(name, context, next) {
        const theirs = context.parentURL?.includes('/conformance/');
        return theirs && /^(node:)?fs$/.test(name) ? { url: ${JSON.stringify(complete)}, shortCircuit: true } : next(name, context);
      }
    `),
  );
}
