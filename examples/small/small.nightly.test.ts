/** Starts each small system by its command. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freePort } from '@elysia-microservices/test-support'

function start(folder: string, env: Readonly<Record<string, string>>): ChildProcess {
  const file = fileURLToPath(new URL(`${folder}/start.ts`, import.meta.url))
  return spawn(process.execPath, [file], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit']
  })
}

/** The output of a system that ends by itself. */
async function outputOf(folder: string): Promise<string> {
  const program = start(folder, { PORT: String(await freePort('localhost')) })
  const exited = once(program, 'exit')
  const output = await text(program.stdout!)
  assert.deepEqual(await exited, [0, null])
  return output
}

describe('the small systems', () => {
  it('twenty-lines: the caller has its answers', async () => {
    assert.equal(await outputOf('twenty-lines'), '6\n0\n1\n2\n')
  })

  it('images: each picture is halved, or refused', async () => {
    const [, halved, refused] = /^(\d+) pictures halved, (\d+) refused/m.exec(await outputOf('images')) ?? []
    assert.equal(Number(halved) + Number(refused), 40)
  })

  it('tenants: a tenant sees its own notes, a stranger none', async () => {
    const port = String(await freePort())
    const program = start('tenants', { PORT: port, NOTES_PORT: String(await freePort('localhost')) })
    const exited = once(program, 'exit')
    try {
      await once(program.stdout!, 'data')
      const ask = (authorization: string, note?: string) =>
        fetch(`http://localhost:${port}/notes`, {
          method: note === undefined ? 'GET' : 'POST',
          headers: { authorization, 'content-type': 'application/json' },
          ...(note !== undefined && { body: JSON.stringify({ text: note }) })
        })
      assert.equal((await ask('Bearer ada', 'Buy tea')).status, 201)
      assert.deepEqual(await (await ask('Bearer ada')).json(), [{ text: 'Buy tea', by: 'Ada' }])
      assert.deepEqual(await (await ask('Bearer bob')).json(), [])
      assert.equal((await ask('Bearer eve')).status, 401)
      program.kill('SIGTERM')
      assert.deepEqual(await exited, [0, null])
    } finally {
      program.kill('SIGKILL')
    }
  })
})
