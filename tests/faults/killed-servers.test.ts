/** Clients while the processes of their servers are killed, or restarted one after the other. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { load } from '../support/load.ts'
import { ServerProcess } from '../support/server-process.ts'

const replica = { program: 'faults/replica', arguments: (port: number) => [String(port)] }

const cleanups: (() => Promise<void>)[] = []

async function start(count: number): Promise<ServerProcess[]> {
  const servers = Array.from({ length: count }, () => new ServerProcess(replica))
  cleanups.push(async () => void (await Promise.all(servers.map((server) => server.stop('SIGKILL')))))
  await Promise.all(servers.map((server) => server.start()))
  return servers
}

function client(servers: readonly ServerProcess[]): UntypedClient {
  const made = connect({
    url: servers.map(({ port }) => `127.0.0.1:${port}`),
    reconnect: { minDelay: 10, maxDelay: 100 }
  })
  cleanups.push(() => made.close())
  return made
}

/** Resolves when this number of further connections is established. */
function connections(of: UntypedClient, count: number): Promise<void> {
  return new Promise((resolve) => {
    let made = 0
    const stop = of.onStatus(({ type }) => {
      if (type !== 'connected' || ++made < count) return
      stop()
      resolve()
    })
  })
}

/** Ten callers that share one client. */
const callers = (client: UntypedClient) => new Array<UntypedClient>(10).fill(client)

describe('clients of servers in processes of their own', () => {
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })

  it('lose no request in a rolling restart', async () => {
    const servers = await start(3)
    const caller = client(servers)
    const all = connections(caller, 3)
    await caller.connect()
    await all
    const stop = load(callers(caller))
    for (const server of servers) {
      const back = connections(caller, 1)
      await server.stop('SIGTERM')
      await server.start()
      await back
    }
    const { answered, failures } = await stop()
    assert.deepEqual(failures, [])
    assert.ok(answered > 100, `${answered} answered`)
  })

  it('lose no idempotent request when a server is killed', async () => {
    const servers = await start(3)
    const caller = client(servers)
    const all = connections(caller, 3)
    await caller.connect()
    await all
    const stop = load(callers(caller), { idempotent: true })
    const back = connections(caller, 1)
    await servers[0]!.stop('SIGKILL')
    await servers[0]!.start()
    await back
    const { failures } = await stop()
    assert.deepEqual(failures, [])
  })

  it('wait for their only server', async () => {
    const [server] = (await start(1)) as [ServerProcess]
    const caller = client([server])
    const first = await caller.request('pid')
    const lost = new Promise<void>((resolve) => {
      caller.onStatus(({ type }) => type === 'disconnected' && resolve())
    })
    await server.stop('SIGKILL')
    await lost
    const call = caller.request('pid')
    await server.start()
    assert.notEqual(await call, first)
  })
})
