import assert from 'node:assert/strict'
import { it } from 'node:test'
import { addressOfCall, addressOfHandler } from './address.ts'

const engine = {
  title: 'TEST',
  whyNot: (route: string) => (route.includes(' ') ? 'it has a blank; leave it out' : undefined)
}

it('the address of a pattern is the pattern, unless the engine says why not', () => {
  assert.equal(addressOfHandler(engine, 'a.*'), 'a.*')
  assert.equal(addressOfCall(engine, 'a.b'), 'a.b')
  for (const addressOf of [addressOfCall, addressOfHandler])
    assert.throws(() => addressOf(engine, `a b${'c'.repeat(1_000)}`), {
      name: 'OptionError',
      message: /^TEST cannot carry the pattern 'a bc{297}': it has a blank; leave it out$/
    })
})

it('wildcards are for handlers, and a RegExp for none', () => {
  assert.throws(() => addressOfCall(engine, 'a.>'), {
    message:
      "TEST cannot carry the pattern 'a.>': '*' and '>' stand for any segment, and a call goes to one address; write the segments out"
  })
  assert.throws(() => addressOfHandler(engine, undefined), {
    message: "TEST cannot carry a RegExp as a pattern; use '*' for one segment and '>' for the rest"
  })
})
