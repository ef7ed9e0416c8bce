/** The reports of runtimes about errors, as they print them, and what of them is told. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isOfReport, readReport } from './report.ts'

const CASES: Readonly<Record<string, readonly [printed: string, told: object]>> = {
  'a syntax error on Node': [
    `file:///app/src/s.js:2
const b = ;
          ^

SyntaxError: Unexpected token ';'
    at compileSourceTextModule (node:internal/modules/esm/utils:346:16)
    at ModuleLoader.moduleStrategy (node:internal/modules/esm/translators:146:18)

Node.js v20.20.2`,
    { text: "SyntaxError: Unexpected token ';'", place: 'src/s.js:2:11', isCode: true, more: [] }
  ],
  'a syntax error in TypeScript on Node': [
    `node:internal/modules/run_main:107
    triggerUncaughtException(
    ^

/app/src/s.ts:2
export const a: number = 1
const b: string = ;
                  ^

SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Expression expected
    at parseTypeScript (node:internal/modules/typescript:72:36)
    at ModuleLoader.loadAndTranslate (node:internal/modules/esm/loader:498:31) {
  code: 'ERR_INVALID_TYPESCRIPT_SYNTAX'
}

Node.js v24.21.0`,
    {
      text: 'SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Expression expected',
      place: 'src/s.ts:2:19',
      isCode: true,
      more: []
    }
  ],
  'a syntax error under tsx': [
    `node:internal/modules/run_main:123
    triggerUncaughtException(
    ^

Error [TransformError]: Transform failed with 1 error:
/app/src/s.ts:2:18: ERROR: Unexpected ";"
    at failureErrorWithLog (/app/node_modules/esbuild/lib/main.js:1752:15)
    at Pipe.onStreamRead (node:internal/stream_base_commons:191:23) {
  name: 'TransformError'
}`,
    { text: 'Unexpected ";"', place: 'src/s.ts:2:18', isCode: true, more: [] }
  ],
  'a page that esbuild cannot bundle': [
    `Error: Build failed with 2 errors:
src/page.ts:3:24: ERROR: Could not resolve "node:net"
src/page.ts:4:24: ERROR: Could not resolve "node:tls"
    at failureErrorWithLog (/app/node_modules/esbuild/lib/main.js:1752:15)`,
    { text: 'Could not resolve "node:net"', place: 'src/page.ts:3:24', isCode: true, more: [] }
  ],
  'an export that is not there, on Node': [
    `file:///app/exp.js:1
import { nope } from './ok.js'
         ^^^^
SyntaxError: The requested module './ok.js' does not provide an export named 'nope'
    at ModuleJob._instantiate (node:internal/modules/esm/module_job:213:21)
    at async ModuleJob.run (node:internal/modules/esm/module_job:320:5)`,
    {
      text: "SyntaxError: The requested module './ok.js' does not provide an export named 'nope'",
      place: 'exp.js:1:10',
      isCode: true,
      more: []
    }
  ],
  'an export that is not there, on Bun': [
    `SyntaxError: Export named 'nope' not found in module '/app/ok.js'.

Bun v1.4.5 (Linux x64)`,
    { text: "SyntaxError: Export named 'nope' not found in module '/app/ok.js'.", isCode: true, more: [] }
  ],
  'a syntax error on Bun': [
    `2 | const b: string = ;
                      ^
error: Unexpected ;
    at /app/src/s.ts:2:19

Bun v1.4.5 (Linux x64)`,
    { text: 'error: Unexpected ;', place: 'src/s.ts:2:19', isCode: true, more: [] }
  ],
  'a syntax error on Deno': [
    `error: SyntaxError: Expression expected
  |
2 | const b: string = ;
  |                   ~
    at file:///app/src/s.ts:2:19

Stack backtrace:
   0: <unknown>`,
    { text: 'SyntaxError: Expression expected', place: 'src/s.ts:2:19', isCode: true, more: [] }
  ],
  'an error of several lines on Node': [
    `/app/src/thr.ts:1
function load() { throw new Error('no settings\\n  - PORT is missing') }
                        ^


Error: no settings
  - PORT is missing
    at load (/app/src/settings.ts:1:32)
    at <anonymous> (/app/src/thr.ts:2:1)
    at Module._compile (node:internal/modules/cjs/loader:1521:14)
    at Object.transformer (/app/node_modules/tsx/dist/register-B1c7OH6V.cjs:22:2188)`,
    {
      text: 'Error: no settings',
      place: 'src/settings.ts:1',
      isCode: false,
      more: ['  - PORT is missing', '    at <anonymous> (/app/src/thr.ts:2:1)']
    }
  ],
  'an error of several lines on Bun': [
    `1 | function load() { throw new Error('no settings') }
                                    ^
error: no settings
  - PORT is missing
      at load (/app/src/settings.ts:1:36)
      at /app/src/thr.ts:2:1

Bun v1.4.5 (Linux x64)`,
    {
      text: 'error: no settings',
      place: 'src/settings.ts:1',
      isCode: false,
      more: ['  - PORT is missing', '      at /app/src/thr.ts:2:1']
    }
  ],
  'an error on Deno': [
    `error: Uncaught (in promise) Error: no settings
function load() { throw new Error('no settings') }
                        ^
    at load (file:///app/src/settings.ts:1:32)`,
    {
      text: 'Error: no settings',
      place: 'src/settings.ts:1',
      isCode: false,
      more: []
    }
  ],
  'JSON that cannot be read, which is no error of the code': [
    `<anonymous_script>:1
{bad
 ^

SyntaxError: Expected property name or '}' in JSON at position 1
    at JSON.parse (<anonymous>)
    at load (/app/json.js:1:31)`,
    {
      text: "SyntaxError: Expected property name or '}' in JSON at position 1",
      place: 'json.js:1',
      isCode: false,
      more: []
    }
  ]
}

describe('the report of a runtime', () => {
  for (const [what, [printed, told]] of Object.entries(CASES))
    it(`about ${what}`, () => {
      const lines = printed.split('\n')
      assert.deepEqual(readReport(lines, '/app'), told)
      assert.ok(isOfReport(lines[0] as string), 'it is held back from its first line on')
    })

  it('is not found in lines of a program', () => {
    for (const line of ['orders is listening', 'GET /orders 200', '{ "level": "error" }', '']) {
      assert.equal(isOfReport(line), false, line)
      assert.equal(readReport([line], '/app'), undefined)
    }
  })
})
