import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ChannelModel } from 'amqplib'
import { survivesTimeouts } from './socket.ts'

const CLOSE = 1_310_760
const buffer = { end() {} }

/** The driver's connection with one open channel, number 3. */
function newConnection() {
  const seen: string[] = []
  const connection = {
    channels: [null, null, null, { buffer }] as ({ readonly buffer: typeof buffer } | null)[],
    accept({ channel }: { readonly channel: number }) {
      seen.push(`accept ${channel} ${connection.channels[channel] ? 'open' : 'unknown'}`)
    },
    releaseChannel(channel: number) {
      seen.push(`release ${channel}`)
      connection.channels[channel] = null
    }
  }
  survivesTimeouts({ connection } as unknown as ChannelModel)
  const close = (replyText: string) => {
    const frame = { id: CLOSE, channel: 3, fields: { replyText } }
    connection.accept(frame)
  }
  return { connection, seen, close }
}

describe('a channel of RabbitMQ', () => {
  it('that is closed because a handler took too long is closed once, and its number is not used again', () => {
    const { connection, seen, close } = newConnection()
    close(
      'PRECONDITION_FAILED - delivery acknowledgement on channel 3 timed out. Timeout value used: 3000 ms'
    )
    connection.releaseChannel(3)
    close(
      'PRECONDITION_FAILED - delivery acknowledgement on channel 3 timed out. Timeout value used: 3000 ms'
    )
    assert.deepEqual(seen, ['accept 3 open'])
    assert.equal(connection.channels[3], null)
  })

  it('that is closed for another reason is handled by the driver alone', () => {
    const { connection, seen, close } = newConnection()
    close('NOT_FOUND')
    connection.releaseChannel(3)
    close('NOT_FOUND')
    assert.deepEqual(seen, ['accept 3 open', 'release 3', 'accept 3 unknown'])
  })
})
