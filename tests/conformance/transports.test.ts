/** Callers get the same results over every transport, from every kind of handlers. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { isInCheck, isMissing, isOnPush, Log, Values } from '@elysia-microservices/test-support'
import { routeOf } from '@elysia-microservices/transport/kit'
import { connect, OptionError, RpcError, type UntypedClient } from 'elysia-microservices/client'
import { underBun } from '../workspace.ts'
import { seen } from './controller.ts'
import { answers } from './semantics/answers.ts'
import {
  type AnswerCase,
  type ErrorLook,
  expectedOn,
  type Given,
  type Outcome,
  type ServiceName
} from './semantics/case.ts'
import { made, said } from './semantics/live-controller.ts'
import { scenarios } from './semantics/scenarios.ts'
import {
  type Ends,
  type RunningService,
  SERVICES,
  TRANSPORTS,
  type TransportUnderTest
} from './semantics/services.ts'

/** The parts of an error that its caller sees; an error that is not an answer is thrown again. */
function lookOf(error: unknown): ErrorLook {
  if (error instanceof OptionError) return { name: error.name, code: error.code, message: error.message }
  assert.ok(error instanceof RpcError, String(error))
  const { name, code, message, details } = error
  return { name, code, message, ...(details === undefined ? {} : { details }) }
}

/** The values of a stream until its end, and its error if there is one. */
async function outcomeOf(take: (next: (value: unknown) => void) => Promise<void>): Promise<Outcome> {
  const values: unknown[] = []
  try {
    await take((value) => void values.push(value))
    return { values }
  } catch (error) {
    return { values, error: lookOf(error) }
  }
}

async function check(client: UntypedClient, { pattern, data, options }: AnswerCase, outcome: Outcome) {
  const { logs: _, ...expected } = outcome
  const streamed = await outcomeOf(async (next) => {
    for await (const value of client.stream(pattern, data, options)) next(value)
  })
  assert.deepEqual(streamed, expected, 'by stream()')
  const sent = await outcomeOf((next) => client.send(pattern, data, options).forEach(next))
  assert.deepEqual(sent, expected, 'by send()')
  const asked = await outcomeOf(async (next) => next(await client.request(pattern, data, options)))
  const first = expected.values.length > 0 || expected.error === undefined
  assert.deepEqual(asked, first ? { values: [expected.values[0]] } : expected, 'by request()')
}

/**
 * The outcome of a call on a transport. A pattern that the transport cannot carry is refused before the call is sent.
 */
function outcomeOn(
  transport: TransportUnderTest,
  service: ServiceName,
  { pattern, outcome, differs }: AnswerCase
) {
  const route = routeOf(pattern)
  const refusal = transport.refuses?.(route)
  if (refusal === undefined) return expectedOn(transport, service, outcome, differs)
  const message = `${transport.name} cannot carry the pattern '${route}': ${refusal}`
  const what: Outcome = { values: [], error: { name: 'OptionError', code: 'OPTION', message } }
  return { what, because: 'there is no such address' }
}

/**
 * `npm run check` tries each kind of handlers over the wire of Nest, and each transport with one kind. On a push Bun
 * tries every other pair, Node the rest.
 */
function isTried(transport: TransportUnderTest, service: (typeof SERVICES)[number]): boolean {
  if (isInCheck) return service.name === 'handlers' || transport.name === "Nest's wire"
  const pair = TRANSPORTS.indexOf(transport) + SERVICES.indexOf(service)
  return !isOnPush || (pair % 2 === 0) === underBun
}

for (const transport of TRANSPORTS) {
  if (isMissing(`what every transport carries, over ${transport.name}`, transport.missing)) continue
  for (const service of SERVICES) {
    if (!isTried(transport, service)) continue
    describe(`${service.name} on ${transport.name}`, () => {
      let ends: Ends
      let running: RunningService
      const log = new Log()
      let client: UntypedClient
      const others: UntypedClient[] = []
      const newClient = (options: { readonly timeout?: number } = {}) =>
        connect({ transport: ends.client(), logger: { error() {}, warn() {} }, ...options })
      before(async () => {
        ends = await transport.open()
        running = await service.start(
          ends.server,
          log,
          (pattern) => transport.refuses?.(pattern) === undefined
        )
        client = newClient()
      })
      after(async () => {
        await client.close()
        await running.stop()
        await ends.close?.()
      })
      beforeEach(() => {
        log.clear()
        seen.length = 0
        made.count = 0
        said.values = new Values()
      })
      afterEach(async () => {
        for (const other of others.splice(0)) await other.close()
      })

      for (const answer of answers) {
        const { what, because } = outcomeOn(transport, service.name, answer)
        it(because === undefined ? answer.name : `${answer.name} (as documented: ${because})`, async () => {
          await check(client, answer, what)
          if (what.logs !== undefined) await log.has(what.logs)
        })
      }

      for (const { name, of, pattern, run } of scenarios) {
        if (of !== undefined && !of.includes(service.name)) continue
        if (pattern !== undefined && transport.refuses?.(pattern) !== undefined) continue
        it(name, async () => {
          const given: Given = {
            transport: transport.name,
            service: service.name,
            traits: transport.traits,
            client,
            connect(options) {
              const other = newClient(options)
              others.push(other)
              return other
            },
            logged: (text) => log.has(text)
          }
          await run(given)
        })
      }
    })
  }
}
