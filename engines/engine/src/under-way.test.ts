/** A service and its clients count the calls that are under way, and count them no longer when they are over. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { Ends, valuesOf } from './testing/ends.ts'
import { readReply } from './words.ts'

const open: Ends[] = []
function ends(): Ends {
  const made = new Ends()
  open.push(made)
  return made
}
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries++) {
    assert.ok(tries < 5_000, `${what}: it has not become so`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

/** A handler whose answers a test gives. */
function held() {
  const answers: ((value: unknown) => void)[] = []
  return { answers, handle: () => new Promise<unknown>((resolve) => answers.push(resolve)) }
}

/** A stream that a test ends. */
function endless() {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  async function* values() {
    yield 1
    await ended
  }
  return { values, end: () => end() }
}

describe('a service', () => {
  it('counts a request until it is answered, and a stream until its end', async () => {
    const both = ends()
    const { answers, handle } = held()
    const { values, end } = endless()
    const service = await both.serve({ waits: handle, values })
    const counts = () => [service.stats().inFlight.current, service.stats().streams]
    const client = both.client()
    const answer = client.request('waits', 1)
    await until('the request has begun', () => answers.length === 1)
    assert.deepEqual(counts(), [1, 0])
    answers[0]?.('done')
    assert.equal(await answer, 'done')
    assert.deepEqual(counts(), [0, 0])
    const stream = valuesOf(client, 'values')
    await until('the stream has begun', () => stream.values.length === 1)
    assert.deepEqual(counts(), [1, 1])
    end()
    await stream.ended
    assert.deepEqual(counts(), [0, 0])
  })

  it('that has answered everything waits for nothing when it stops', async () => {
    const both = ends()
    const { answers, handle } = held()
    const service = await both.serve({ waits: handle })
    const answer = both.client().request('waits', 1)
    await until('the request has begun', () => answers.length === 1)
    answers[0]?.('done')
    await answer
    await service.stop({ drain: 3_600_000 })
  })
})

describe('a client', () => {
  it('lets a further stream have less in transit while others are open, and as much as before when they have ended', async () => {
    const both = ends()
    const { values, end } = endless()
    await both.serve({ values })
    const client = both.client()
    const windows = () =>
      both.hub.published.flatMap(({ reply }) => {
        const token = readReply(reply)
        return token?.kind === 'stream' && token.window > 0 ? [token.window] : []
      })
    const streams = [valuesOf(client, 'values'), valuesOf(client, 'values')]
    await until('both have begun', () => streams.every((stream) => stream.values.length === 1))
    const [first = 0, second = 0] = windows()
    assert.ok(first > second && second > 0, `${first} and ${second}`)
    end()
    for (const { ended } of streams) await ended
    await valuesOf(client, 'values').ended
    assert.equal(windows().at(-1), first)
  })

  it('says that an event may have run if its connection is lost before the server has confirmed it', async () => {
    const both = ends()
    await both.serve({ 'on noted': () => {} })
    const client = both.client()
    await client.connect()
    both.hub.pause()
    const emitted = client.emit('noted', 1)
    both.lastCarrier.lose()
    await assert.rejects(emitted, { code: 'CONNECTION', mayHaveRun: true })
  })
})
