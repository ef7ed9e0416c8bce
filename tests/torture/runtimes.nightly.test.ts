/** gRPC under torture on Node LTS and Deno, with both ends and the strangers there: `tcp.nightly.test.ts` has Bun and Node 20. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { OTHER_RUNTIMES } from '../support/runtimes.ts'
import { testsFolder } from '../workspace.ts'
import { overTcp } from './scenarios.ts'

const names = overTcp.map(({ name }) => name).filter((name) => name.includes('grpc'))
/** Milliseconds for one scenario in its short form. */
const PATIENCE = 300_000

for (const { name: runtime, commandOf } of OTHER_RUNTIMES)
  describe(`on ${runtime}, no guarantee is broken`, () => {
    for (const name of names)
      it(name, { timeout: 2 * PATIENCE }, async () => {
        const [executable, ...rest] = await commandOf('torture/run')
        const child = spawn(executable, [...rest, `--only=${name}`], {
          cwd: testsFolder,
          stdio: ['ignore', 'pipe', 'pipe'],
          timeout: PATIENCE,
          killSignal: 'SIGKILL'
        })
        let said = ''
        for (const output of [child.stdout, child.stderr])
          output.setEncoding('utf8').on('data', (text: string) => {
            said += text
          })
        const [code, signal] = await once(child, 'close')
        assert.equal(signal ?? code, 0, said)
      })
  })
