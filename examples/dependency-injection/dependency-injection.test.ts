/** Starts each app as a user would, and calls it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { connect } from 'elysia-microservices/client'

/** Under Node the tests run in compiled form, and so do the apps. */
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

describe('controllers made by a container', () => {
  for (const [app, said] of [
    ['with-tsyringe', []],
    ['with-awilix', ['Hello, operator!']]
  ] as const) {
    it(`${app} answers, and stops on SIGTERM`, async () => {
      const file = fileURLToPath(new URL(`${app}.${extension}`, import.meta.url))
      const env = { ...process.env, PORT: '0' }
      const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] })
      const exited = once(child, 'exit')
      try {
        const lines: string[] = []
        let port: number | undefined
        for await (const line of createInterface(child.stdout)) {
          port = Number(/^listening on port (\d+)$/.exec(line)?.[1])
          if (port > 0) break
          lines.push(line)
        }
        assert.ok(port)
        assert.deepEqual(lines, said)
        const client = connect({ port })
        assert.equal(await client.request('greet', { name: 'Ada' }), 'Hello, Ada!')
        await client.close()
        child.kill('SIGTERM')
        assert.deepEqual(await exited, [0, null])
      } finally {
        child.kill('SIGKILL')
      }
    })
  }
})
