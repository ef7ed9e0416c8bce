/** The same classes in Nest's pipeline, run by Nest, by this library, and by Nest on our transport: all the same. */
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

/** The packets that the caller gets, and the steps that have run. */
async function play({ port }: RunningServer, packet: string, isRequest: boolean) {
  steps.length = 0
  const peer = await WirePeer.connect(port)
  try {
    await peer.send(packet)
    // An event has no answer; a request behind it has, and by then all that it does at once is done.
    if (!isRequest) await peer.send(request('echo', SILENT))
    const ended = () => peer.frames.some((text) => text.includes('"isDisposed":true'))
    for (let frames = 1; !ended() && !peer.closed; frames++) await peer.received(frames)
    return { frames: peer.frames, ran: [...steps] }
  } finally {
    peer.close()
  }
}

/**
 * Our frames as Nest sends them: there an HttpException is an internal error, and a guard's refusal has no code
 * (docs/protocol.md, "Where we differ on purpose").
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
      it(`runs an event that wishes '${wish}' as Nest does`, async () => {
        const packet = event('event', { handler: wish })
        const expected = await play(nest, packet, false)
        assert.deepEqual(await play(ours, packet, false), expected)
        assert.deepEqual(await play(inNest, packet, false), expected)
      })
    }
  })
}
