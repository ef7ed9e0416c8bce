/** Changesets refuse every command if their configuration names a package that is not there, and nobody runs one daily. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { rootFolder } from '../workspace.ts'

const read = (file: string) => JSON.parse(readFileSync(join(rootFolder, file), 'utf8'))

describe('changesets', () => {
  const { packages } = read('package-lock.json') as {
    packages: Record<string, { link?: true; resolved?: string }>
  }
  const members = Object.values(packages)
    .filter(({ link }) => link)
    .map(({ resolved }) => read(`${resolved}/package.json`) as { name: string; private?: true })
  const names = (isPrivate: boolean) =>
    members.filter((member) => (member.private === true) === isPrivate).map(({ name }) => name)
  const { fixed, ignore } = read('.changeset/config.json') as { fixed: [string[]]; ignore: string[] }

  it('give all published packages the same version', () =>
    assert.deepEqual(fixed[0].toSorted(), names(false).toSorted()))

  it('wait for 0.1.0, which they would skip: until it is on npm, its entries in the changelogs tell what is new', () => {
    const isPublished = !readFileSync(join(rootFolder, 'README.md'), 'utf8').includes(
      '0.1.0 is not on npm yet'
    )
    const waiting = readdirSync(join(rootFolder, '.changeset')).filter((name) => name.endsWith('.md'))
    assert.ok(isPublished || waiting.length === 0, `${waiting.join(', ')}: tell it in the entry of 0.1.0`)
  })

  it('leave out the others', () => assert.deepEqual(ignore.toSorted(), names(true).toSorted()))
})
