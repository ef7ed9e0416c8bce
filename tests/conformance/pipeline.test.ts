/**
 * The same classes in NestJS's pipeline, run by NestJS, by this library, and by NestJS with our transport: the
 * results are equal.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isInCheck } from '@elysia-microservices/test-support'
import { type RunningServer, startNest, startOurs, startOursInNest } from './harness/servers.ts'
import { event, request, WirePeer } from './harness/wire.ts'
import { type Call, calls } from './pipeline/calls.ts'
import { FilterController, FullController, PartsController } from './pipeline/controller.ts'
import {
  EverythingFilter,
  NamedGuard,
  NamedInterceptor,
  NamedPipe,
  NOTHINGS,
  namedHook,
  SILENT,
  steps
} from './pipeline/parts.ts'

const CONTROLLERS = [FullController, PartsController, FilterController]
const GLOBALS = {
  preRequestHooks: [namedHook('first hook'), namedHook('second hook')],
  guards: [new NamedGuard('global')],
  pipes: [new NamedPipe('global')],
  interceptors: [new NamedInterceptor('global')],
  filters: [new EverythingFilter()]
}

const EVENTS = [
  ...['done', 'throw', 'fail', 'domain anything', 'stream'],
  ...Object.keys(NOTHINGS).map((nothing) => `domain ${nothing}`)
]

/** The packets that the caller receives, and the steps that have run. */
async function play({ port }: RunningServer, packet: string, isRequest: boolean) {
  steps.length = 0
  const peer = await WirePeer.connect(port)
  try {
    await peer.send(packet)
    // An event has no answer. The request that follows it has one, and by then all synchronous work of the event is
    // done.
    if (!isRequest) await peer.send(request('echo', SILENT))
    const ended = () => peer.frames.some((text) => text.includes('"isDisposed":true'))
    for (let frames = 1; !ended() && !peer.closed; frames++) await peer.received(frames)
    return { frames: peer.frames, ran: [...steps] }
  } finally {
    peer.close()
  }
}

/**
 * Converts our frames to those of NestJS, where two things differ: an HttpException is an internal error, and the
 * refusal of a guard has no code (docs/protocol.md, "Where we differ on purpose").
 */
function asNest(played: Awaited<ReturnType<typeof play>>): typeof played {
  const frames = played.frames.map((frame) =>
    frame
      .replace(/"err":\{"status":"error","code":"[A-Z_]+","message":"[^"]*","statusCode":4\d\d\}/, INTERNAL)
      .replace('"code":"FORBIDDEN","message":"Forbidden resource"', '"message":"Forbidden resource"')
  )
  return { ...played, frames }
}

const INTERNAL = '"err":{"status":"error","message":"Internal server error"}'

for (const [name, globals] of [
  ['by class and method', {}],
  ['for all controllers as well', GLOBALS]
] as const) {
  if (isInCheck && globals !== GLOBALS) continue
  describe(`Nest's pipeline, ${name}`, () => {
    let nest: RunningServer
    let ours: RunningServer
    let inNest: RunningServer
    before(async () => {
      nest = await startNest(CONTROLLERS, {}, globals)
      ours = await startOurs(CONTROLLERS, {}, globals)
      inNest = await startOursInNest(CONTROLLERS, {}, globals)
    })
    after(async () => {
      await nest.stop()
      await ours.stop()
      await inNest.stop()
    })

    for (const [pattern, data] of calls) {
      it(`answers ${JSON.stringify(pattern)} with ${JSON.stringify(data)} as Nest does`, async () => {
        const packet = request(pattern, data)
        const expected = await play(nest, packet, true)
        assert.ok(expected.frames.length > 0)
        assert.deepEqual(asNest(await play(ours, packet, true)), expected)
        assert.deepEqual(await play(inNest, packet, true), expected)
      })
    }

    for (const wish of EVENTS) {
      it(`runs an event with the data '${wish}' as Nest does`, async () => {
        const packet = event('event', { handler: wish })
        const expected = await play(nest, packet, false)
        assert.deepEqual(await play(ours, packet, false), expected)
        assert.deepEqual(await play(inNest, packet, false), expected)
      })
    }
  })
}

/**
 * Filters that return a promise. Where Nest makes a success of their failure, we do not (docs/protocol.md, "Where we
 * differ on purpose"): a call, Nest's packet, and ours.
 */
const OTHERWISE: readonly (readonly [call: Call, nest: string, ours: string])[] = [
  [['guarded', { handler: 'domain promise of nothing' }], '', INTERNAL],
  [['guarded', { handler: 'stream domain promise of nothing' }], '', INTERNAL],
  [['around', { handler: 'domain promise of nothing' }], '', INTERNAL],
  [['around', { handler: 'domain promise of observable' }], '"response":{}', '"response":"recovered"'],
  [['around', { handler: 'domain promise of failure' }], '"response":{}', '"err":{"code":"LATER"}']
]

describe("an exception filter's promise", () => {
  let nest: RunningServer
  let ours: RunningServer
  before(async () => {
    nest = await startNest(CONTROLLERS)
    ours = await startOurs(CONTROLLERS)
  })
  after(async () => {
    await nest.stop()
    await ours.stop()
  })

  for (const [[pattern, data], expected, own] of OTHERWISE)
    it(`makes no success of a failure: ${JSON.stringify(pattern)} with ${JSON.stringify(data)}`, async () => {
      const packet = request(pattern, data)
      const [theirs] = (await play(nest, packet, true)).frames
      assert.ok(theirs?.startsWith(`{${expected}`) && theirs.endsWith('"isDisposed":true,"id":"I"}'), theirs)
      const [answer] = (await play(ours, packet, true)).frames
      assert.ok(answer?.startsWith(`{${own}`), answer)
    })
})
