/**
 * The same classes in NestJS's pipeline, run by NestJS, by this library, and by NestJS with our transport: the
 * results are equal.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type RunningServer, startNest, startOurs, startOursInNest } from './harness/servers.ts'
import { event, request, WirePeer } from './harness/wire.ts'
import { calls } from './pipeline/calls.ts'
import { FilterController, FullController, PartsController } from './pipeline/controller.ts'
import {
  EverythingFilter,
  NamedGuard,
  NamedInterceptor,
  NamedPipe,
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

    for (const wish of ['done', 'throw', 'fail', 'domain anything', 'stream']) {
      it(`runs an event with the data '${wish}' as Nest does`, async () => {
        const packet = event('event', { handler: wish })
        const expected = await play(nest, packet, false)
        assert.deepEqual(await play(ours, packet, false), expected)
        assert.deepEqual(await play(inNest, packet, false), expected)
      })
    }
  })
}
