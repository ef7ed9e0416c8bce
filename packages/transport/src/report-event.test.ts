/** Tests an event on a transport that does not store events: it ends once, and a failure is logged. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PatternNotFoundError, RejectedError } from './errors/index.ts'
import { ErrorAnswer, EventHandlersError } from './failure.ts'
import { IncomingMessage } from './message.ts'
import { reportEvent } from './report-event.ts'

const message = new IncomingMessage({
  transport: 'memory',
  kind: 'event',
  pattern: 'order.placed',
  route: 'order.placed',
  data: 1
})

/** Passes the event to a handler, and records the log lines and the end. */
function report(event: () => unknown) {
  const lines: string[] = []
  const causes: unknown[] = []
  const log = (line: string, cause?: unknown) => {
    lines.push(line)
    causes.push(cause)
  }
  const seen = { lines, causes, ended: 0 }
  const dispatcher = { routes: () => [], request: () => assert.fail(), event: event as () => void }
  const isOver = reportEvent(dispatcher, message, { error: log, warn: log }, () => seen.ended++)
  return { isOver, seen }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
const FAILED = "A handler of the event 'order.placed' failed"

describe('an event', () => {
  it('has ended at once when its handlers have', () => {
    const { isOver, seen } = report(() => undefined)
    assert.deepEqual([isOver, seen.ended, seen.lines], [true, 1, []])
  })

  it('ends when the promise of its handlers has settled', async () => {
    let end = () => {}
    const { isOver, seen } = report(
      () =>
        new Promise<void>((resolve) => {
          end = resolve
        })
    )
    assert.deepEqual([isOver, seen.ended], [false, 0])
    end()
    await turn()
    assert.deepEqual([seen.ended, seen.lines], [1, []])
  })

  it('ends once, whatever its handlers give, and however often that calls back', async () => {
    const own = Promise.resolve()
    Reflect.set(own, 'then', (done: () => void) => {
      done()
      done()
    })
    const revoked = Proxy.revocable({}, {})
    revoked.revoke()
    for (const result of [own, new Proxy(Promise.resolve(), {}), revoked.proxy, { a: 1 }, null]) {
      const { seen } = report(() => result)
      await turn()
      assert.equal(seen.ended, 1)
    }
  })

  const error = new Error('no')
  const failures: [what: string, reason: unknown, lines: string[]][] = [
    ['an error', error, [FAILED]],
    ['an error on purpose', new RejectedError('busy'), [FAILED]],
    ['several errors', new EventHandlersError([error, new AggregateError([])]), [FAILED, FAILED]],
    ['an error of several', new AggregateError([error, error]), [FAILED]],
    [
      'a pattern that nobody handles',
      PatternNotFoundError.of('order.placed'),
      ['There is no matching event handler defined in the remote service. Event pattern: order.placed']
    ],
    ['what another service has answered', new PatternNotFoundError('no', 'received'), [FAILED]],
    ['what its dispatcher has reported', new ErrorAnswer('told'), []],
    [
      "an HttpException of Nest's",
      Object.assign(new Error(), { getStatus: () => 400, getResponse: () => 'no' }),
      [FAILED]
    ]
  ]
  for (const [what, reason, lines] of failures) {
    it(`ends once and logs ${what}, thrown or rejected`, async () => {
      const thrown = report(() => {
        throw reason
      })
      assert.deepEqual([thrown.isOver, thrown.seen.ended, thrown.seen.lines], [true, 1, lines])
      const rejected = report(async () => {
        throw reason
      })
      await turn()
      assert.deepEqual([rejected.isOver, rejected.seen.ended, rejected.seen.lines], [false, 1, lines])
      if (reason === error) assert.deepEqual(rejected.seen.causes, [error])
    })
  }
})
