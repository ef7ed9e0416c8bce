import assert from 'node:assert/strict'
import { it } from 'node:test'
import { shortInstance } from './instance.ts'

it('an instance has a short name, with which its id begins', () => {
  assert.equal(shortInstance('3f9a2c01-7a1b-4c3d-8e9f-0123456789ab'), '3f9a2c01')
  assert.equal(shortInstance('orders-7d9c'), 'orders-7d9c')
  assert.equal(shortInstance('a-name-that-nobody-reads-to-its-end'), 'a-name-that-nob…')
})
