import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Publisher } from '@elysia-microservices/engine'
import type { PostgresConnection } from '../connection/postgres-connection.ts'
import { EventStore } from './event-store.ts'
import type { OutgoingRow } from './outgoing.ts'

const KEEPING = { duplicateWindow: 1_000, maxBytes: 0 }

it('a server that stops has not refused an event; what it refuses is told with whether that may pass', async () => {
  const told: string[] = []
  let state = ''
  const connection = {
    isConnected: true,
    tables: {
      store: async () => {
        throw Object.assign(new Error('no'), { code: state })
      }
    },
    reach: { failed: () => told.push('lost') }
  } as unknown as PostgresConnection
  const publisher = {
    sentEvent: () => ({}),
    refused: (_: number, error: Error, passes: boolean) => told.push(`${error.name} ${passes}`)
  } as unknown as Publisher<OutgoingRow>
  const store = new EventStore(connection, publisher, KEEPING)
  for (state of ['57P01', '08006', 'ECONNREFUSED', '53100', '25006', '22P05']) {
    store.append({ size: 1, row: {} } as OutgoingRow, 0)
    for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate)
  }
  const passes = 'NotStoredError true'
  assert.deepEqual(told, ['lost', 'lost', 'lost', passes, passes, 'EventRefusedError false'])
})

it('events of a key that another publishes wait in their order, and no other event does', async () => {
  const asked: string[] = []
  const told: string[] = []
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const connection = {
    isConnected: true,
    tables: {
      store: async (rows: readonly { id: string; key?: string }[], _window: number, waits: boolean) => {
        asked.push(`${rows.map(({ id }) => id)}${waits ? ' waits' : ''}`)
        if (waits) await ended
        return rows.map(({ id, key }) => ({ position: id, isHeld: !waits && key === 'held' }))
      }
    }
  } as unknown as PostgresConnection
  const publisher = {
    sentEvent: () => ({}),
    held: (number: number) => told.push(`${number} held`),
    stored: (number: number) => told.push(`${number}`)
  } as unknown as Publisher<OutgoingRow>
  const store = new EventStore(connection, publisher, KEEPING)
  const settled = async () => {
    for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate)
  }
  const append = (number: number, key?: string) =>
    store.append({ size: 1, row: { id: String(number), key } } as OutgoingRow, number)
  append(1, 'held')
  append(2)
  await settled()
  append(3, 'held')
  append(4, 'free')
  await settled()
  assert.deepEqual(asked, ['1,2', '1 waits', '4'])
  assert.deepEqual(told, ['2', '1 held', '3 held', '4'])
  end()
  await settled()
  append(5, 'held')
  await settled()
  assert.deepEqual(asked.slice(3), ['3 waits', '5', '5 waits'])
  assert.deepEqual(told.slice(4), ['1', '3', '5 held', '5'])
})

/** A store for events of keys that others publish, of which each statement that waits is answered by the test. */
function overHeldKeys() {
  const asked: string[] = []
  const ends: ((error?: unknown) => void)[] = []
  const held = new Set<string | undefined>()
  const connection = {
    isConnected: true,
    tables: {
      store: async (rows: readonly { id: string; key?: string }[], _window: number, waits: boolean) => {
        asked.push(`${rows.map(({ id }) => id)}${waits ? ' waits' : ''}`)
        if (waits) {
          const error = await new Promise<unknown>((resolve) => ends.push(resolve))
          if (error !== undefined) throw error
        }
        return rows.map(({ id, key }) => ({ position: id, isHeld: !waits && held.has(key) }))
      }
    }
  }
  const publisher = {
    sentEvent: () => ({}),
    held() {},
    stored() {},
    refused() {}
  } as unknown as Publisher<OutgoingRow>
  const store = new EventStore(connection as unknown as PostgresConnection, publisher, KEEPING)
  const settled = async () => {
    for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate)
  }
  const append = async (id: string, key: string) => {
    store.append({ size: 1, row: { id, key } } as OutgoingRow, 0)
    await settled()
  }
  const end = async (error?: unknown) => {
    ends.shift()?.(error)
    await settled()
  }
  return { asked, held, connection, append, end }
}

for (const code of ['55P03', '57014'])
  it(`events whose keys others publish for long are asked for again, before later ones of their keys (${code})`, async () => {
    const { asked, held, append, end } = overHeldKeys()
    held.add('a')
    await append('a1', 'a')
    await append('a2', 'a')
    await end({ code })
    await end()
    assert.deepEqual(asked, ['a1', 'a1 waits', 'a1,a2 waits'])
  })

it('events that wait for their key are asked for again although another was refused meanwhile', async () => {
  const { asked, held, connection, append, end } = overHeldKeys()
  held.add('a')
  await append('a1', 'a')
  const { store } = connection.tables
  connection.tables.store = async () => {
    throw Object.assign(new Error('deadlock detected'), { code: '40P01' })
  }
  await append('b1', 'b')
  connection.tables.store = store
  await end({ code: '55P03' })
  assert.deepEqual(asked, ['a1', 'a1 waits', 'a1 waits'])
})

it('events of a key that nobody else publishes any more wait for no other key', async () => {
  const { asked, held, append, end } = overHeldKeys()
  held.add('a').add('b')
  await append('a1', 'a')
  await append('b1', 'b')
  held.delete('a')
  await end()
  await append('a2', 'a')
  assert.deepEqual(asked, ['a1', 'a1 waits', 'b1', 'b1 waits', 'a2'])
})

it('events that waited for their keys when the server was lost are forgotten with their keys', async () => {
  const { asked, held, connection, append, end } = overHeldKeys()
  held.add('a')
  await append('a1', 'a')
  await append('a2', 'a')
  connection.isConnected = false
  await end()
  connection.isConnected = true
  held.clear()
  await append('a3', 'a')
  assert.deepEqual(asked, ['a1', 'a1 waits', 'a3'])
})

it('events that came while the server was lost are left to the publisher, which appends them again', async () => {
  const { asked, connection, append } = overHeldKeys()
  connection.isConnected = false
  await append('a', 'k')
  connection.isConnected = true
  await append('a', 'k')
  assert.deepEqual(asked, ['a'])
})

it('an event that is larger than a batch is stored alone, and those beside it are', async () => {
  const MEGABYTE = 1024 * 1024
  const asked: string[] = []
  const connection = {
    isConnected: true,
    tables: {
      store: async (rows: readonly { id: string }[]) => {
        asked.push(`${rows.map(({ id }) => id)}`)
        return rows.map(({ id }) => ({ position: id, isDuplicate: id === '2', isHeld: false }))
      }
    }
  } as unknown as PostgresConnection
  const told: unknown[][] = []
  const publisher = {
    sentEvent: () => ({}),
    stored: (...given: unknown[]) => told.push(given)
  } as unknown as Publisher<OutgoingRow>
  const store = new EventStore(connection, publisher, KEEPING)
  for (const [number, size] of [10, 10, 2 * MEGABYTE, 10].entries())
    store.append({ size, row: { id: String(number) } } as OutgoingRow, number)
  for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate)
  assert.deepEqual(asked, ['0,1', '2', '3'])
  assert.deepEqual(told, [
    [0, '0', false],
    [1, '1', false],
    [2, '2', true],
    [3, '3', false]
  ])
})

it('with a limit the log is looked through while events are published, and one for which there is no room is refused', async () => {
  let looks = 0
  let kept = 0
  const connection = {
    isConnected: true,
    tables: {
      advance: async () => void looks++,
      store: async (rows: readonly { id: string }[], _window: number, _waits: boolean, maxBytes: number) =>
        rows.map(({ id }) =>
          ++kept > maxBytes ? { isHeld: false, full: kept - 1 } : { position: id, isHeld: false }
        )
    }
  } as unknown as PostgresConnection
  const told: string[] = []
  const publisher = {
    sentEvent: () => ({}),
    stored: (number: number) => told.push(`${number}`),
    refused: (number: number, { message }: Error, passes: boolean) =>
      told.push(`${number} ${passes}: ${message}`)
  } as unknown as Publisher<OutgoingRow>
  const store = new EventStore(connection, publisher, { ...KEEPING, maxBytes: 1 })
  for (const number of [0, 1]) {
    store.append({ size: 1, row: { id: String(number) } } as OutgoingRow, number)
    for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate)
  }
  assert.deepEqual([told.length, told[0]], [2, '0'])
  assert.match(told[1] ?? '', /^1 true: .* keeps 1 bytes of events, and may keep 1:/)
  assert.equal(looks, 1)
})

it('what waits behind an event that is refused for now is refused, too, unless it has another pattern', async () => {
  const asked: string[] = []
  const told: string[] = []
  let refuse = (_: Error) => {}
  const connection = {
    isConnected: true,
    tables: {
      store: async (rows: readonly { id: string }[]) => {
        asked.push(`${rows.map(({ id }) => id)}`)
        if (asked.length === 1) await new Promise((_, reject) => (refuse = reject))
        return rows.map(({ id }) => ({ position: id, isHeld: false }))
      }
    }
  } as unknown as PostgresConnection
  const publisher = {
    sentEvent: () => ({}),
    stored: (number: number) => told.push(`${number}`),
    refused: (number: number, _: Error, passes: boolean) => told.push(`${number} ${passes}`)
  } as unknown as Publisher<OutgoingRow>
  const store = new EventStore(connection, publisher, KEEPING)
  const append = (number: number, address: string) =>
    store.append({ size: 1, address, row: { id: String(number) } } as OutgoingRow, number)
  const settled = async () => {
    for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate)
  }
  append(0, 'a')
  await settled()
  append(1, 'a')
  append(2, 'b')
  append(3, 'a')
  refuse(Object.assign(new Error('deadlock detected'), { code: '40P01' }))
  await settled()
  assert.deepEqual(told, ['0 true', '1 true', '3 true', '2'])
  assert.deepEqual(asked, ['0', '2'])
})
