/**
 * Tests servers that accept a connection and say nothing, as a worker that dies while it is given the connection: the
 * next calls are made over another connection.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { Ends, SOCKETS } from '../testing/ends.ts'

/** A port before a server. It swallows what comes over some connections, by their numbers from 0. */
class Port {
  readonly #sockets = new Set<net.Socket>()
  #server: net.Server | undefined
  /** Number of connections so far. */
  accepted = 0

  async listen(target: number, swallows: (connection: number) => boolean): Promise<number> {
    const server = net.createServer((from) => {
      this.#keep(from)
      if (swallows(this.accepted++)) return void from.resume()
      const to = net.connect(target, '127.0.0.1')
      this.#keep(to)
      from.pipe(to).pipe(from)
      from.on('close', () => to.destroy())
      to.on('close', () => from.destroy())
    })
    this.#server = server
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return (server.address() as net.AddressInfo).port
  }

  /** Sends FIN over all connections. */
  end(): void {
    for (const socket of this.#sockets) socket.end()
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  close(): void {
    this.#server?.close()
    this.cut()
  }

  #keep(socket: net.Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
  }
}

for (const [name, sockets] of SOCKETS) {
  describe(`a connection on which nothing is answered, with sockets of ${name}`, () => {
    let ends: Ends
    let port: Port
    afterEach(async () => {
      await ends.close()
      port.close()
    })

    async function open(swallows: (connection: number) => boolean, rsocket = {}): Promise<number> {
      ends = new Ends(sockets)
      port = new Port()
      const server = await ends.server({ rsocket })
      return port.listen(server.address!.port, swallows)
    }

    it('is given up within connectTimeout, and the call is retried if that does no harm', async () => {
      const at = await open((connection) => connection === 0)
      const client = ends.client(at, { connectTimeout: 100 })
      assert.equal(await client.request('echo', 1, { idempotent: true }), 1)
      assert.equal(port.accepted, 2)
    })

    it('is given up as well while the client resumes over it', async () => {
      const at = await open((connection) => connection === 1, { resume: true })
      const client = ends.client(at, { connectTimeout: 100, rsocket: { resume: true } })
      assert.equal(await client.request('echo', 1), 1)
      port.cut()
      assert.equal(await client.request('echo', 2), 2)
      assert.equal(port.accepted, 3)
    })

    it("is left on Nest's wire when three calls have timed out", async () => {
      const at = await open((connection) => connection === 0)
      const client = ends.client(at, { protocol: 'nest' })
      await client.connect()
      for (let count = 0; count < 3; count++)
        await assert.rejects(client.request('echo', 1, { timeout: 20 }), { name: 'TimeoutError' })
      assert.equal(await client.request('echo', 4), 4)
    })

    it("is told apart from a server on Nest's wire by no byte, so the error names the option", async () => {
      const at = await open(() => true)
      const client = ends.client(at, { connectTimeout: 50, retry: false })
      await assert.rejects(client.request('echo', 1), {
        name: 'ConnectionError',
        message: /needs protocol: 'nest'/
      })
    })

    it('and that is closed names the option as well', async () => {
      const at = await open(() => {
        setImmediate(() => port.end())
        return true
      })
      const client = ends.client(at, { retry: false })
      await assert.rejects(client.request('echo', 1), {
        name: 'ConnectionError',
        message: /closed the connection before it answered.* needs protocol: 'nest'/
      })
    })
  })
}
