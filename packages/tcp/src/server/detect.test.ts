import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { detectProtocol, type Protocol } from './detect.ts'

/** The simplest rule for a first byte: the bytes with which a decoded Nest length may begin, as `parseInt` reads it. */
function obvious(byte: number): Protocol | undefined {
  if (byte <= 0x08) return 'rsocket'
  if (byte >= 0x80) return 'nest'
  const character = String.fromCharCode(byte)
  return /[\d+\-#]/.test(character) || character.trim() === '' ? 'nest' : undefined
}

describe('detectProtocol', () => {
  for (const [what, byte, protocol] of [
    ['a SETUP frame of less than 65,536 bytes', 0x00, 'rsocket'],
    ['a SETUP frame of less than 589,824 bytes', 0x08, 'rsocket'],
    ['white space, which parseInt skips', 0x09, 'nest'],
    ['a decimal length', 0x35, 'nest'],
    ['the first byte of a byte order mark', 0xef, 'nest'],
    ['a TLS handshake', 0x16, undefined],
    ['the G of an HTTP GET', 0x47, undefined],
    ['the { of bare JSON', 0x7b, undefined]
  ] as const) {
    it(`takes ${what} (0x${byte.toString(16)}) for ${protocol ?? 'neither protocol'}`, () => {
      assert.equal(detectProtocol(byte), protocol)
    })
  }

  it('decides every byte as the rule says', () => {
    for (let byte = 0; byte < 256; byte++) assert.equal(detectProtocol(byte), obvious(byte), String(byte))
  })
})
