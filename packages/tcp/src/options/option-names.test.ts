/** Tests errors for unknown options: of a client, of a server, of both, and together with options of other parts. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OptionError } from '@elysia-microservices/transport/kit'
import { CLIENT_OPTION_NAMES } from './client-options.ts'
import { checkOptionNames, type OptionNames } from './option-names.ts'
import { SERVER_OPTION_NAMES } from './server-options.ts'

const BOTH = [SERVER_OPTION_NAMES, CLIENT_OPTION_NAMES]

/** Returns the error for an option; an empty text if the option is known. */
function said(given: object, ends: readonly OptionNames[], beside?: readonly string[]): string {
  try {
    checkOptionNames(given, ends, beside)
    return ''
  } catch (error) {
    assert.ok(error instanceof OptionError)
    assert.equal(error.path, `options.${Object.keys(given).at(-1)}`)
    return error.message
  }
}

describe('a name that is no option', () => {
  it('is told with the option that was meant, of the end that was asked', () => {
    assert.equal(
      said({ hots: 'a' }, [SERVER_OPTION_NAMES]),
      'options.hots is not an option of a TCP server; did you mean options.host?'
    )
    assert.equal(
      said({ port: 1, conections: 2 }, [CLIENT_OPTION_NAMES]),
      'options.conections is not an option of a TCP client; did you mean options.connections?'
    )
  })

  it('is told with its place, where it was given outside of its group', () => {
    assert.match(said({ idle: 5 }, [SERVER_OPTION_NAMES]), /did you mean options\.limits\.idle\?$/)
    assert.match(said({ cert: 'x' }, [CLIENT_OPTION_NAMES]), /did you mean options\.tls\.cert\?$/)
    assert.match(said({ keepalive: {} }, BOTH), /did you mean options\.rsocket\.keepalive\?$/)
  })

  it('is told with all there are, each once, where none is like it', () => {
    assert.equal(
      said({ xylophone: 1 }, [SERVER_OPTION_NAMES]),
      'options.xylophone is not an option of a TCP server; ' +
        'there are host, port, path, reusePort, tls, allow, authenticate, limits, rsocket'
    )
    const names = said({ xylophone: 1 }, BOTH).split('there are ')[1]?.split(', ') ?? []
    assert.ok(names.includes('reusePort') && names.includes('connectTimeout'))
    assert.equal(new Set(names).size, names.length)
  })

  it('belongs to TCP as a whole where the end is not known yet', () => {
    assert.match(said({ hots: 'a' }, BOTH), /^options\.hots is not an option of TCP; /)
  })

  it('may be meant for those whose options stand beside: then nothing is said of TCP', () => {
    const beside = ['transport', 'logger']
    assert.equal(
      said({ loger: 1 }, [SERVER_OPTION_NAMES], beside),
      'options.loger is not an option; did you mean options.logger?'
    )
    assert.match(said({ hots: 1 }, [SERVER_OPTION_NAMES], beside), / is not an option of a TCP server; /)
    assert.match(said({ xylophone: 1 }, [SERVER_OPTION_NAMES], beside), / of a TCP server; there are host, /)
  })

  it('is ignored where it is undefined, as if it were not there', () => {
    assert.equal(said({ hots: undefined }, BOTH), '')
  })
})

describe('a name that is an option', () => {
  it('is one of the end, of either end, or of the tests of this package', () => {
    assert.equal(said({ reusePort: true }, BOTH), '')
    assert.equal(said({ connections: 2 }, BOTH), '')
    assert.equal(said({ fragmentSize: 64 }, [CLIENT_OPTION_NAMES]), '')
    assert.notEqual(said({ reusePort: true }, [CLIENT_OPTION_NAMES]), '')
  })
})
