/** The HTTP of an app whose service has workers: it is served by them, while they are replaced, too. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { freePort } from '@elysia-microservices/test-support'
import { underBun } from '../workspace.ts'
import { programs } from './running-program.ts'

const { run, endAll } = programs()

/** The ids of the processes that answer HTTP. */
async function answeringHttp(port: number): Promise<number[]> {
  const answering = new Set<number>()
  for (let n = 0; n < 64; n++) {
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })
    answering.add(Number(await response.text()))
  }
  return [...answering].sort()
}

/**
 * One request over a connection. It is written by hand, because some clients send a request again if its connection
 * is lost. @returns whether the server closes the connection after its answer
 */
function isLastAnswer(socket: net.Socket): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let text = ''
    const end = (settle: () => void) => {
      socket.off('data', read).off('error', reject).off('close', lost)
      settle()
    }
    const lost = () => end(() => reject(new Error('The connection was closed before the answer')))
    const read = (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const [head = '', body] = text.split(/\r\n\r\n/, 2)
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN)
      const isWhole = Number.isNaN(length) ? text.endsWith('0\r\n\r\n') : body?.length === length
      if (body !== undefined && isWhole) end(() => resolve(/connection: close/i.test(head)))
    }
    socket.on('data', read).on('error', reject).on('close', lost)
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
  })
}

describe('an app whose service has workers', () => {
  afterEach(endAll)

  it('serves HTTP of its app by the workers, and never by the supervisor', async () => {
    const http = await freePort()
    const program = run({ http })
    await program.port()
    assert.deepEqual(await answeringHttp(http), [...(await program.workers())].sort())
    program.kill('SIGTERM')
    assert.equal(await program.ended, 0)
  })

  it('moves HTTP clients to other workers before it replaces one, so that none of their requests fails', async () => {
    const port = await freePort()
    const program = run({ http: port })
    await program.port()
    const before = await program.workers()
    const failures: string[] = []
    let answers = 0
    let isOver = false
    const client = async () => {
      while (!isOver) {
        const socket = net.connect(port, '127.0.0.1')
        socket.on('error', () => {})
        try {
          await once(socket, 'connect')
          // On Bun the kernel may reset a connection that is new when a worker stops listening.
          let isLast = await isLastAnswer(socket).catch((error: unknown) => {
            if (underBun) return true
            throw error
          })
          for (; !isLast && !isOver; answers++) {
            // So the connection is idle for a part of the time, as kept connections are.
            await new Promise((resolve) => setTimeout(resolve, 2))
            isLast = await isLastAnswer(socket)
          }
        } catch (error) {
          failures.push(String(error))
        }
        socket.destroy()
      }
    }
    const clients = Array.from({ length: 8 }, client)
    for (let restart = 0; restart < 2; restart++) {
      program.kill('SIGHUP')
      await program.fact('done', restart)
    }
    isOver = true
    await Promise.all(clients)
    assert.deepEqual(failures, [])
    assert.ok(answers > 100, `${answers} answers`)
    const after = await program.workers()
    assert.deepEqual(
      after.filter((pid) => before.includes(pid)),
      []
    )
  })

  if (underBun) {
    it('also finishes HTTP requests in flight when it is stopped', async () => {
      const http = await freePort()
      const program = run({ http })
      await program.port()
      const response = fetch(`http://127.0.0.1:${http}/slow`)
      await program.fact('done')
      program.kill('SIGTERM')
      assert.equal((await response).status, 200)
      assert.equal(await program.ended, 0)
    })

    it('serves HTTP by the workers if its app is used in another app', async () => {
      const http = await freePort()
      const program = run({ http, nested: true })
      await program.port()
      assert.deepEqual(await answeringHttp(http), [...(await program.workers())].sort())
    })
  } else
    it('reports that its app must be the one that listens', async () => {
      const program = run({ http: await freePort(), nested: true })
      assert.equal(await program.ended, 1)
      assert.match(program.log, /must be used in the app that listens/)
    })
})
