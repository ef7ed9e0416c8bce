/** The log lines of a client, and of a server to which an unknown program connects, over real sockets. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { microservice } from '../index.ts'
import { tcp } from '../tcp.ts'
import { Cleanups } from '../testing/ways.ts'
import { connect } from './index.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

function recording() {
  const lines: string[] = []
  const add = (line: string) => void lines.push(line)
  return { lines, logger: { error: add, warn: add } }
}

const silent = recording().logger

for (const protocol of ['rsocket', 'nest'] as const)
  describe(`a client's log, ${protocol}`, () => {
    it('has a line when the service is gone, and one when it is back', async () => {
      const start = async (port: number) => {
        const transport = tcp({ host: '127.0.0.1', port })
        const service = microservice({ transport, logger: silent }).message('sum', () => 3)
        await service.listen()
        return service
      }
      const first = await start(0)
      const { port } = first.address!
      const { lines, logger } = recording()
      const reconnect = { minDelay: 1, maxDelay: 5 }
      const client = cleanups.add(connect({ host: '127.0.0.1', port, protocol, logger, reconnect }))
      assert.equal(await client.request('sum'), 3)
      const attempts: Promise<void> = new Promise((resolve) => {
        let failed = 0
        client.onStatus(({ type }) => {
          if (type === 'connect-failed' && ++failed === 5) resolve()
        })
      })
      await first.stop()
      await attempts
      cleanups.add(await start(port))
      assert.equal(await client.request('sum'), 3)
      assert.equal(lines.length, 2, lines.join('\n'))
      assert.match(lines[0] as string, new RegExp(`^Cannot connect to 127.0.0.1:${port}: .`))
      assert.equal(lines[1], `Connected to 127.0.0.1:${port} again`)
    })
  })

describe('the log of a service that is asked over HTTP', () => {
  it('has a line that says so, and not one for each time it is asked', async () => {
    const { lines, logger } = recording()
    const service = cleanups.add(microservice({ transport: tcp({ host: '127.0.0.1', port: 0 }), logger }))
    await service.listen()
    for (let n = 0; n < 50; n++) {
      const socket = net.connect(service.address!.port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
      await once(socket, 'close')
    }
    const [first, ...others] = lines.map((line) => line.replace(/^.*?:\d+: /, ''))
    assert.equal(
      first,
      "The first byte is 0x47 ('G'): this looks like HTTP, which this port does not speak; let health checks connect by TCP"
    )
    assert.ok(others.length < 48, `${others.length} more lines`)
  })
})
