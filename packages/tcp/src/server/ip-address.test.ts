import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { parseAddress } from './ip-address.ts'

const hex = (text: string) => {
  const bytes = parseAddress(text)
  return bytes === undefined ? undefined : Buffer.from(bytes).toString('hex')
}

describe('parseAddress', () => {
  it('reads both families', () => {
    assert.equal(hex('10.1.2.255'), '00000000000000000000ffff0a0102ff')
    assert.equal(hex('::ffff:10.1.2.255'), hex('10.1.2.255'))
    assert.equal(hex('::ffff:a01:2ff'), hex('10.1.2.255'))
    assert.equal(hex('::'), '0'.repeat(32))
    assert.equal(hex('::1'), `${'0'.repeat(31)}1`)
    assert.equal(hex('2001:DB8::8:800:200c:417A'), '20010db80000000000080800200c417a')
    assert.equal(hex('1:2:3:4:5:6:7:8'), '00010002000300040005000600070008')
    assert.equal(hex('1:2:3:4:5:6:7::'), '00010002000300040005000600070000')
  })

  const BAD = [
    ...[
      '',
      ' ',
      '1',
      '1.2.3',
      '1.2.3.4.5',
      '256.0.0.1',
      '01.2.3.4',
      '1.2.3.4 ',
      '-1.2.3.4',
      '0x1.2.3.4',
      'localhost'
    ],
    ...[
      ':',
      ':::',
      '1::2::3',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      '1:2:3:4:5:6:7:8::',
      '12345::',
      'g::',
      '::1.2.3'
    ],
    ...[
      '1.2.3.4::',
      '::1.2.3.4:5',
      '1:2:3:4:5:6:7:1.2.3.4',
      ':1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:',
      'fe80::1%eth0'
    ]
  ]
  for (const text of BAD) it(`refuses '${text}'`, () => assert.equal(parseAddress(text), undefined))

  it('agrees with the runtime on what an address is', () => {
    const piece = fc.constantFrom('0', '1', 'ab', 'ffff', ':', '::', '.', '10', '255', '256', '1.2.3.4')
    const text = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.array(piece, { maxLength: 17 }).map((pieces) => pieces.join(''))
    )
    fc.assert(
      fc.property(text, (address) => {
        assert.equal(parseAddress(address) !== undefined, isIP(address) !== 0, address)
      }),
      { numRuns: runs(5_000) }
    )
  })
})
