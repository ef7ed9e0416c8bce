import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { memory, RpcError } from '@elysia-microservices/transport'
import { connect } from '../client/connect.ts'
import { dispatcherOf } from './dispatcher-of.ts'
import { microservice } from './microservice.ts'
import { HandlerRegistry } from './registry.ts'

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function started(more: object = {}) {
  const lines: string[] = []
  const waiting: (() => void)[] = []
  const logger = {
    error() {},
    warn() {},
    debug(line: string) {
      lines.push(line.replace(/[\d.]+ ms/, 'n ms'))
      for (const wake of waiting.splice(0)) wake()
    },
    ...more
  }
  const transport = memory()
  const service = microservice({ transport, logger })
    .message('sum', () => 3)
    .message('later', async () => 3)
    .message('refuses', () => {
      throw new RpcError({ code: 'NO_STOCK', message: 'Sold out' })
    })
    .message('breaks', async () => {
      throw new Error('a secret')
    })
    .message('users.*', () => 1)
    .message('ticks', function* () {
      for (let n = 0; ; n++) yield n
    })
    .event('placed', () => {})
  await service.listen()
  const client = connect({ transport })
  ends.push(
    () => service.stop(),
    () => client.close()
  )
  /** Resolves when the log has that many lines. */
  const linesOf = async (count: number) => {
    while (lines.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
    return lines
  }
  return { client, lines, linesOf, service }
}

describe('lines at debug', () => {
  it('say of each message how it ended', async () => {
    const { client, linesOf } = await started()
    await client.request('sum')
    await client.request('later')
    await client.request('users.7')
    for (const pattern of ['refuses', 'breaks', 'nobody']) await client.request(pattern).catch(() => {})
    await client.emit('placed')
    for await (const n of client.stream('ticks')) if (n === 3) break
    assert.deepEqual(await linesOf(8), [
      'sum: OK, n ms, memory',
      'later: OK, n ms, memory',
      'users.7: OK, n ms, memory',
      'refuses: NO_STOCK, n ms, memory',
      'breaks: INTERNAL, n ms, memory',
      'nobody: PATTERN_NOT_FOUND, n ms, memory',
      'placed: OK, n ms, memory',
      'ticks: CANCELED, n ms, memory'
    ])
  })

  it('hold nothing that a caller could forge', async () => {
    const { client, lines } = await started()
    await client.request('users.7\nusers.8: OK\u001b[2J').catch(() => {})
    assert.equal(lines.length, 1)
    assert.match(lines[0]!, /^users\.7\\u\{a\}users\.8: OK\\u\{1b\}\[2J: PATTERN_NOT_FOUND, n ms, memory$/)
  })

  it('are written to a logger that throws without harm to anybody', async () => {
    const { client } = await started({
      debug() {
        throw new Error('full')
      }
    })
    assert.equal(await client.request('sum'), 3)
  })

  it('cost nothing where the logger takes none', async () => {
    for (const more of [{ debug: undefined }, { isLevelEnabled: (level: string) => level !== 'debug' }]) {
      const { client, lines, service } = await started(more)
      await client.request('sum')
      assert.deepEqual(lines, [])
      assert.ok(dispatcherOf(service) instanceof HandlerRegistry, 'nothing stands between')
    }
  })
})
