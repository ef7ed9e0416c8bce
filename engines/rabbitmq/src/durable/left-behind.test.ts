import assert from 'node:assert/strict'
import { it } from 'node:test'
import { suspects } from './left-behind.ts'

it('a queue may be left behind if it has a pattern or a group of the service, and is none of its own', () => {
  const named = (text: string) => {
    const [group = '', pattern = ''] = text.split(' ')
    return { group, pattern }
  }
  const notes = ['old p', 'new p', 'new removed', 'other other', 'old other'].map(named)
  assert.deepEqual(
    suspects(notes, ['new p', 'new q'].map(named)).map(({ group, pattern }) => `${group} ${pattern}`),
    ['old p', 'new removed']
  )
})
