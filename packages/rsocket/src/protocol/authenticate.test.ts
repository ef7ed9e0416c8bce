/** Tests authentication: calls of the server's hook, its verdicts, and the errors that a client gets. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { UnauthenticatedError } from '@elysia-microservices/transport/kit'
import { entry, error, frame, metadata, request, routeEntry, setup } from '../testing/rsocket-frames.ts'
import { newRsocketServer, outcomeOf, rsocketClient, rsocketServer, turn } from '../testing/rsocket-peer.ts'
import type { Authenticate, AuthenticationRequest } from './authenticate.ts'

const REFUSED = '{"code":"UNAUTHENTICATED","message":"The credentials are not accepted"}'

/** A bearer token, as an entry of composite metadata. */
const bearer = (token: string) => entry(0x7c, Buffer.of(0x81), token)
/** Makes a request that carries credentials. */
const signed = (streamId: number, token: string) =>
  frame(streamId, 'REQUEST_RESPONSE', 'M', metadata(routeEntry('echo'), bearer(token)), '1')

/** Makes an event that carries credentials. It has no answer. */
const signedEvent = (streamId: number, token: string) =>
  frame(streamId, 'REQUEST_FNF', 'M', metadata(routeEntry('noted'), bearer(token)), '1')

const failing = (): never => {
  throw new Error('the directory is down')
}

const verdicts: [what: string, verdict: () => unknown, isAccepted: boolean, isLogged?: boolean][] = [
  ['true', () => true, true],
  ['a promise of true', () => Promise.resolve(true), true],
  ['false', () => false, false],
  ['nothing', () => undefined, false],
  ['1', () => 1, false],
  ['a text', () => 'yes', false],
  ['an object', () => ({}), false],
  ['a user without a name', () => ({ user: 7 }), false],
  ['a user', () => ({ user: 'anna' }), true],
  ['a promise of false', () => Promise.resolve(false), false],
  ['a promise of nothing', () => Promise.resolve(), false],
  ['an error', failing, false, true],
  ['a promise that rejects', async () => failing(), false, true]
]

describe('the authenticate hook of a server', () => {
  for (const [what, verdict, isAccepted, isLogged = false] of verdicts) {
    const does = isAccepted ? 'lets in' : 'keeps out'
    it(`${does} a connection, and a request that says who sends it, by ${what}`, async () => {
      const authenticate = verdict as Authenticate
      const server = newRsocketServer({ authenticate })
      const frames = [...server.on(setup(), request(1, 'echo', '1')), ...(await server.later())]
      assert.deepEqual(frames, [isAccepted ? 'PAYLOAD 1 CN 1' : `ERROR 0 0x3 ${REFUSED}`])
      assert.equal(server.ended, !isAccepted)
      assert.equal(server.dispatcher.requests.length, isAccepted ? 1 : 0)
      assert.deepEqual(server.logger.lines, isLogged ? ['A client was refused: authenticate failed'] : [])
      const open = newRsocketServer({
        authenticate: (asked) => asked.route === undefined || authenticate(asked)
      })
      open.on(setup(), signed(1, 'token'))
      const [answer = ''] = await open.later()
      if (isAccepted) assert.equal(answer, 'PAYLOAD 1 CN 1')
      // If the hook fails, the answer does not say that the credentials are wrong.
      else if (isLogged) assert.match(answer, /^ERROR 1 0x201 \{"code":"INTERNAL"/)
      else assert.equal(answer, `ERROR 1 0x201 ${REFUSED}`)
      assert.equal(open.dispatcher.requests.length, isAccepted ? 1 : 0)
      assert.equal(open.ended, false)
    })
  }

  it('is asked what has come, and by whom: of a connection, and of each request with credentials', async () => {
    const asked: AuthenticationRequest[] = []
    const server = newRsocketServer({ authenticate: (request) => asked.push(request) > 0 })
    server.on(setup({ metadata: bearer('mine') }), request(1, 'echo', '1'), signed(3, 'other'))
    await server.later()
    assert.deepEqual(
      asked.map(({ credentials, route }) => [credentials, route]),
      [
        [{ type: 'bearer', token: 'mine' }, undefined],
        [{ type: 'bearer', token: 'other' }, 'echo']
      ]
    )
    for (const { peer } of asked) assert.equal(peer?.address, undefined)
    const anonymous = newRsocketServer({ authenticate: (request) => asked.push(request) > 0 })
    anonymous.on(setup())
    assert.equal(asked.at(-1)?.credentials, undefined)
  })

  it('is asked about events that say who sends them: one that is refused reaches no handler, and is logged', async () => {
    const server = newRsocketServer({
      authenticate: ({ credentials, route }) =>
        route === undefined || (credentials?.type === 'bearer' && credentials.token === 'right')
    })
    server.on(setup(), signedEvent(1, 'right'), signedEvent(3, 'wrong'))
    assert.deepEqual(await server.later(), [])
    assert.deepEqual(
      server.dispatcher.events.map(({ data }) => data),
      [1]
    )
    assert.deepEqual(server.logger.lines, ["A handler of the event 'noted' failed"])
  })

  it('finds no caller in the peer of a connection that is not set up yet', () => {
    let caller: unknown = 'not asked'
    const server = newRsocketServer({
      authenticate({ peer }) {
        caller = peer?.caller
        return true
      }
    })
    assert.deepEqual(server.on(setup()), [])
    assert.equal(caller, undefined)
  })

  it('keeps out a SETUP whose metadata is not what it says it is', () => {
    const server = newRsocketServer({ authenticate: () => true })
    assert.deepEqual(server.on(setup({ metadata: Buffer.of(0xff) })), [`ERROR 0 0x3 ${REFUSED}`])
    assert.deepEqual(server.logger.lines, ['A client was refused: authenticate failed'])
  })

  it('is not needed for requests with credentials where there is none', async () => {
    const server = rsocketServer()
    server.on(signed(1, 'token'))
    assert.deepEqual(await server.later(), ['PAYLOAD 1 CN 1'])
  })
})

describe('a client that is kept out', () => {
  it('fails its calls with an UnauthenticatedError: they have not run, and nothing was wrong with the connection', async () => {
    const client = rsocketClient()
    const calls = [client.caller.request('a', 1), client.caller.emit('b', 1)]
    client.on(error(0, 0x3, REFUSED))
    assert.equal(client.ended, true)
    client.connection.close()
    const [first] = calls as [Promise<unknown>]
    await assert.rejects(first, (reason) => {
      assert.ok(reason instanceof UnauthenticatedError)
      assert.equal(reason.message, 'tcp://test:4000: The credentials are not accepted')
      assert.deepEqual([reason.code, reason.mayHaveRun, reason.retryable], ['UNAUTHENTICATED', false, false])
      assert.deepEqual(reason.received, JSON.parse(REFUSED))
      return true
    })
  })

  it('fails one call with it where one request was refused', async () => {
    const client = rsocketClient()
    const calls = [client.caller.request('a', 1), client.caller.request('a', 2)].map(outcomeOf)
    client.on(error(1, 0x201, REFUSED), frame(3, 'PAYLOAD', 'NC', '2'))
    await turn()
    assert.deepEqual(calls, [['UnauthenticatedError'], ['2']])
    assert.equal(client.ended, false)
  })

  it('takes any other REJECTED_SETUP for a connection that failed', async () => {
    const client = rsocketClient()
    const call = outcomeOf(client.caller.request('a', 1))
    client.on(error(0, 0x3, 'full'))
    client.connection.close()
    await turn()
    assert.deepEqual(call, ['ConnectionError'])
  })
})
