/** A slow reader of a stream, over a protocol that cannot slow the server down. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { asking, happening, newService } from '../testing/service.ts'

const MOST = 100_000

describe('a stream on the wire of Nest', () => {
  it('fails its reader when that is 100,000 values behind, with all that have come before', async () => {
    const sent = happening()
    const service = newService()
      .message('many', function* () {
        for (let value = 0; value <= MOST + 1; value++) yield value
        sent.happen()
      })
      .message('after', () => sent.happened)
    await asking(
      service,
      async (client) => {
        const stream = client.stream('many')
        assert.deepEqual(await stream.next(), { done: false, value: 0 })
        // The answer of this request arrives after all values of the stream.
        await client.request('after')
        let count = 0
        await assert.rejects(
          async () => {
            for await (const value of stream) assert.equal(value, ++count)
          },
          {
            name: 'PayloadTooLargeError',
            message: '100001 unread values are more than the reader of a stream allows (100000)',
            mayHaveRun: true,
            retryable: false
          }
        )
        assert.equal(count, MOST)
        assert.deepEqual(await stream.next(), { done: true, value: undefined })
      },
      'nest'
    )
  })
})
