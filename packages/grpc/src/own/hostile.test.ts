/** Callers who want too much of health and reflection. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FakeClock } from '@elysia-microservices/rsocket/testing'
import { Log, until } from '@elysia-microservices/test-support'
import { data, framesIn, headers, reset } from '../testing/frames.ts'
import { call, message, Server } from '../testing/server.ts'
import { dispatcherOf } from '../testing/service.ts'
import { HEALTH_NAME } from './health.ts'
import { ownParts } from './own-parts.ts'
import { REFLECTION_NAMES } from './reflection.ts'

const OPEN = 0
const WINDOW = 65_535
const turn = () => new Promise((resolve) => setTimeout(resolve))

/** Health and reflection of a server. */
const newParts = () =>
  ownParts(
    {
      methods: { method: () => undefined, descriptors: () => new Uint8Array() },
      health: { checks: [], checkTimeout: 1_000 },
      reflection: true
    },
    dispatcherOf({}),
    new Log().logger,
    new FakeClock().newTimer
  )

const fields = (path: string) =>
  call('Unary').map(([name, value]) => [name, name === ':path' ? `/${path}` : value] as const)
/** The question for a file that has the name of reflection in it. */
const question = message(`"${String.fromCharCode(REFLECTION_NAMES[0].length)}${REFLECTION_NAMES[0]}`)

describe('reflection', () => {
  it('is asked without end by a caller who reads nothing: it answers as much as the window has room for', async () => {
    const own = newParts()
    const server = new Server({}, { own: own.services })
    server.receives(headers(1, fields(`${REFLECTION_NAMES[0]}/ServerReflectionInfo`), OPEN))
    let answered = 0
    const count = () => {
      for (const { type, payload } of framesIn(server.output.sent()))
        if (type === 0) answered += payload.length
    }
    for (let at = 0; at < 100; at++) {
      server.receives(...Array.from({ length: 40 }, () => data(1, question)))
      await turn()
      count()
    }
    assert.ok(answered > WINDOW / 2 && answered <= WINDOW, `${answered} bytes`)
    assert.equal(server.connection.inFlight, 1)
    server.receives(reset(1, 8))
    await until('it is over', () => server.connection.inFlight === 0)
  })
})

describe('health', () => {
  it('is watched by many callers who leave at once: nothing is kept of them', async () => {
    const own = newParts()
    const server = new Server({}, { own: own.services })
    for (let at = 0; at < 500; at++) {
      const id = 2 * at + 1
      server.receives(headers(id, fields(`${HEALTH_NAME}/Watch`), OPEN), data(id, message(''), true))
      if (at % 50 === 0) await turn()
      server.receives(reset(id, 8))
    }
    await until('nobody watches', () => server.connection.inFlight === 0)
    own.stopping()
    await turn()
    assert.equal(server.output.ended, undefined)
  })
})
