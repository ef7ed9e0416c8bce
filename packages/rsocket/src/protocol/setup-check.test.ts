/** Tests which SETUP a server accepts, and how it answers others. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NO_LIMITS } from '../limits/server-limits.ts'
import { entry, type SetupChange, setup } from '../testing/rsocket-frames.ts'
import type { ServerConnectionOptions } from './options.ts'
import { ResumableConnections } from './resumable-connections.ts'
import { SERVER_RESUME_DEFAULTS } from './resume.ts'
import { readSetup } from './setup.ts'
import { judged, setupCredentials, setupRefusal } from './setup-check.ts'

type Options = Partial<Pick<ServerConnectionOptions, 'limits' | 'resumable'>>

function read(change: SetupChange) {
  const bytes = setup(change)
  return readSetup(bytes, 3, bytes.length)
}

function refusal(change: SetupChange, options: Options = {}) {
  return setupRefusal(read(change), { limits: NO_LIMITS, resumable: undefined, ...options })
}

const resumable = () =>
  new ResumableConnections(
    SERVER_RESUME_DEFAULTS,
    () => () => {},
    () => {}
  )

describe('a SETUP', () => {
  it('may have the shortest times there are, in milliseconds', () => {
    assert.equal(refusal({ keepalive: 1, lifetime: 1 }), undefined)
    for (const change of [{ keepalive: 0 }, { lifetime: 0 }])
      assert.deepEqual(refusal(change), {
        code: 0x1,
        message: 'Keepalive interval and lifetime must be more than 0 ms'
      })
  })

  it('is refused for a version that differs in either of its numbers', () => {
    for (const [major, minor] of [
      [0, 0],
      [2, 0],
      [1, 1],
      [2, 1]
    ] as const)
      assert.deepEqual(refusal({ major, minor }), {
        code: 0x2,
        message: `Version ${major}.${minor} is not supported; 1.0 is`
      })
  })

  it('may have as much metadata as limits.headerSize says; with more it is refused, and counted', () => {
    const refused: unknown[] = []
    const limits = { ...NO_LIMITS, maxHeaderSize: 10, refused: (...why: unknown[]) => refused.push(why) }
    assert.equal(refusal({ metadata: 'x'.repeat(10) }, { limits }), undefined)
    assert.equal(refusal({}, { limits: { ...limits, maxHeaderSize: 0 } }), undefined)
    assert.deepEqual(refused, [])
    const message = 'The metadata of SETUP has 11 bytes; limits.headerSize allows 10'
    assert.deepEqual(refusal({ metadata: 'x'.repeat(11) }, { limits }), { code: 0x1, message })
    assert.deepEqual(refused, [['headers', message]])
  })

  it('may have a token that is its own, where connections can be resumed', () => {
    const connections = resumable()
    connections.add(Buffer.from('taken'), { goOn() {}, end() {} })
    assert.equal(refusal({ token: 'token' }, { resumable: connections }), undefined)
    assert.equal(refusal({}, { resumable: connections }), undefined)
    assert.deepEqual(refusal({ token: 'taken' }, { resumable: connections }), {
      code: 0x3,
      message: 'The resume token belongs to another connection'
    })
    assert.equal(refusal({ token: 'token' })?.code, 0x3)
  })

  it('is refused for data without codec, with the types that have one', () => {
    const { code, message } = refusal({ data: 'text/unknown' }) ?? {}
    assert.equal(code, 0x2)
    assert.match(message ?? '', /data of type text\/unknown; there are .*application\/json/)
  })
})

describe('the credentials of a SETUP', () => {
  const bearer = entry(0x7c, Buffer.of(0x81), 'token')
  const asked = (change: SetupChange) => {
    let credentials: unknown = 'not asked'
    const authenticate: ServerConnectionOptions['authenticate'] = (request) => {
      credentials = request.credentials
      return true
    }
    const logger = { error: assert.fail, warn: assert.fail }
    const setup = read(change)
    const said = judged({ authenticate, logger }, () => setupCredentials(setup), { output: undefined })
    assert.equal(said, true)
    return credentials
  }

  it('are those of its composite metadata', () => {
    assert.deepEqual(asked({ metadata: bearer }), { type: 'bearer', token: 'token' })
  })

  it('are none where it has no metadata, or metadata of another type', () => {
    assert.equal(asked({}), undefined)
    assert.equal(asked({ metadata: bearer, metadataType: 'application/x.own' }), undefined)
  })

  it('are refused by null, which is no promise', () => {
    const options = { authenticate: (() => null) as never, logger: { error: assert.fail, warn: assert.fail } }
    assert.equal(
      judged(options, () => undefined, { output: undefined }),
      false
    )
  })
})
