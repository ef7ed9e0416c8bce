import assert from 'node:assert/strict'
import { BlockList } from 'node:net'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { AllowList } from './allow-list.ts'

const admits = (entries: string[], address: string | undefined) => new AllowList(entries).admits(address)

describe('an allow-list', () => {
  it('admits its addresses and networks, and nobody else', () => {
    const list = ['10.0.0.0/8', '192.168.1.7', '::1', '2001:db8::/33']
    for (const address of [
      '10.0.0.0',
      '10.255.255.255',
      '192.168.1.7',
      '::1',
      '2001:db8:7fff::1',
      '0:0:0:0:0:0:0:1'
    ])
      assert.ok(admits(list, address), address)
    for (const address of ['11.0.0.0', '9.255.255.255', '192.168.1.6', '::2', '2001:db8:8000::', '127.0.0.1'])
      assert.ok(!admits(list, address), address)
  })

  it('takes an IPv4 address for the same in IPv6, as sockets of both families show it', () => {
    assert.ok(admits(['10.0.0.0/8'], '::ffff:10.1.2.3'))
    assert.ok(!admits(['10.0.0.0/8'], '::ffff:11.1.2.3'))
    assert.ok(!admits(['10.0.0.0/8'], '::10.1.2.3'))
    assert.ok(admits(['::ffff:10.0.0.0/104'], '10.1.2.3'))
    assert.ok(admits(['::/0'], '10.1.2.3'))
    assert.ok(!admits(['0.0.0.0/0'], '2001:db8::1'))
  })

  it('does not look at the zone of an address', () => {
    assert.ok(admits(['fe80::/10'], 'fe80::1%eth0'))
  })

  it('does not admit a peer without an address, or with one it cannot read', () => {
    for (const address of [undefined, '', '?', '10.0.0.1.2']) assert.ok(!admits(['::/0'], address))
  })

  const BAD = [
    ...[
      '',
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/-1',
      '10.0.0.0/8/8',
      '10.0.0.0/ 8',
      '::/129',
      '::1%lo',
      'localhost'
    ],
    ...[7, null]
  ]
  for (const entry of BAD) {
    it(`refuses ${JSON.stringify(entry)}`, () => {
      const error = { name: 'OptionError', path: 'options.allow[1]' }
      assert.throws(() => new AllowList(['::1', entry as string]), error)
    })
  }

  it('agrees with BlockList, within a family', () => {
    for (const [family, bits, address] of [
      ['ipv4', 32, fc.ipV4()],
      ['ipv6', 128, fc.ipV6().filter((text) => !text.includes('.'))]
    ] as const) {
      const network = fc.tuple(address, fc.integer({ min: 1, max: bits }))
      fc.assert(
        fc.property(network, address, fc.boolean(), ([net, prefix], other, same) => {
          const slow = new BlockList()
          slow.addSubnet(net, prefix, family)
          const asked = same ? net : other
          assert.equal(admits([`${net}/${prefix}`], asked), slow.check(asked, family))
        })
      )
    }
  })
})
