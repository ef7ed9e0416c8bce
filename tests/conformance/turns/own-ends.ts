/** Endless answers and channels between our own ends, over any transport. */

import { until } from '@elysia-microservices/test-support'
import type { MicroserviceError } from '@elysia-microservices/transport'
import type { TransportUnderTest } from '../../calls/transports.ts'
import { type Case, caseOf, type Watched } from './case.ts'
import { type Reading, Setting } from './setting.ts'
import { type Kind, PULLED, PUSHED } from './sources.ts'

interface End {
  readonly what: string
  /** Whether the transport has this end. Default: every transport. */
  readonly on?: (transport: TransportUnderTest) => boolean
  /** @param call cancels the call */
  end(setting: Setting, watched: Watched, call: { cancel(): void }): Promise<void>
}

/** The ends of an answer and of a channel. */
const ENDS: readonly End[] = [
  {
    what: 'its caller cancels',
    on: ({ cancels }) => cancels,
    async end(setting, watched, call) {
      call.cancel()
      await watched.ends()
      await setting.serves()
    }
  },
  {
    what: 'its caller closes',
    async end(setting, watched) {
      await setting.client.close()
      await watched.ends()
      await setting.serves()
    }
  },
  {
    what: 'the service stops',
    async end({ server }, watched) {
      await server.stop({ drain: 0 })
      await watched.ends()
    }
  },
  {
    what: 'the connection is lost',
    on: ({ connects }) => connects,
    async end(setting, watched) {
      if (setting.message !== undefined) await setting.carried.lose(setting.message)
      // Over an engine, the call may go on over the next connection, or fail some time later.
      await watched.heart.turns(200)
      await setting.serves()
    }
  }
]

/** Makes a case in which the call is started in one way, and ends in another. */
function happens(
  transport: TransportUnderTest,
  kind: Kind,
  what: string,
  start: (setting: Setting) => { cancel(): void },
  end: End['end']
): Case {
  return caseOf(what, kind, async (watched) => {
    const setting = await Setting.open(transport, watched.source)
    try {
      const call = start(setting)
      await setting.runs()
      await end(setting, watched, call)
    } finally {
      await setting.close()
    }
  })
}

/** The reader takes no more values, and the source pauses until the call is cancelled. */
const stalls: End['end'] = async (setting, watched, call) => {
  await watched.stands()
  await setting.serves()
  call.cancel()
  await watched.ends()
}

/** An Observable cannot pause, so it is ended when it is too far ahead. */
const overflows =
  (...codes: string[]): End['end'] =>
  async (setting, watched) => {
    await until('the call fails', () => setting.ended !== undefined)
    const { code } = setting.ended as MicroserviceError
    if (!codes.includes(code)) throw new Error(`the call has ended with ${code}`)
    await watched.stands()
    await setting.serves()
  }

/** The cases of a transport. */
export function casesBetweenOurEnds(transport: TransportUnderTest): Case[] {
  const possible = ENDS.filter(({ on }) => on === undefined || on(transport))
  const channel = (reading: Reading) => (setting: Setting) => setting.send(reading)
  const all: Case[] = []
  for (const kind of PULLED) {
    for (const { what, end } of possible) {
      all.push(happens(transport, kind, `an answer, ${what}`, (setting) => setting.ask(), end))
      if (transport.cancels) all.push(happens(transport, kind, `a channel, ${what}`, channel('all'), end))
    }
    if (!transport.cancels) continue
    all.push(
      happens(transport, kind, 'an answer that is not read', (setting) => setting.askAndPause(), stalls)
    )
    all.push(happens(transport, kind, 'a channel that is not read', channel('none'), stalls))
    all.push(
      happens(transport, kind, 'a channel of which one value is read', channel('one'), async (_, watched) =>
        watched.ends()
      )
    )
  }
  for (const kind of PUSHED) {
    const ends = overflows('STREAM_OVERFLOW', 'CONNECTION')
    all.push(happens(transport, kind, 'an answer', (setting) => setting.ask(), ends))
    if (transport.cancels)
      all.push(happens(transport, kind, 'a channel', channel('none'), overflows('OVERLOADED')))
  }
  return all
}
