/**
 * ioredis alone, used for speed: pipelines, as many entries in one read as there is room for, and one acknowledgement
 * for each read.
 */
import { Redis } from 'ioredis'
import { fillBy, PATTERN } from '../durable/stream.ts'
import type { OpenEchoClient } from '../echo-client.ts'

const GROUP = 'bench'

type Read = [stream: string, entries: [id: string, fields: string[]][]][] | null

export const openEchoClient: OpenEchoClient = async (host, port, { payload, window }) => {
  const options = { host, port, enableAutoPipelining: true }
  const [commands, reading] = [new Redis(options), new Redis(options)]
  await commands.xgroup('CREATE', PATTERN, GROUP, '0', 'MKSTREAM')
  let isClosed = false
  const add = (text: string) => commands.xadd(PATTERN, '*', 'data', text)
  async function read(take: (data: unknown) => void): Promise<void> {
    while (!isClosed) {
      const read = (await reading.xreadgroup(
        'GROUP',
        GROUP,
        'one',
        'COUNT',
        window,
        'BLOCK',
        1_000,
        'STREAMS',
        PATTERN,
        '>'
      )) as Read
      const entries = read?.[0]?.[1] ?? []
      for (const [, fields] of entries) take(JSON.parse(fields[1]!))
      if (entries.length > 0) await commands.xack(PATTERN, GROUP, ...entries.map(([id]) => id))
    }
  }
  return {
    echo: (_payload, _answered, failed) => failed(new Error('Events have no answers')),
    emit: (data) => add(JSON.stringify(data)),
    fill(count) {
      const text = JSON.stringify(payload.value)
      return fillBy(
        count,
        () => add(text),
        () => add(text)
      )
    },
    async takeStored(take) {
      // Calls that fail with the connection at the end do not matter.
      read(take).catch(() => {})
    },
    async close() {
      isClosed = true
      commands.disconnect()
      reading.disconnect()
    }
  }
}
