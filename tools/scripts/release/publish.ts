/**
 * `npm run release`: builds and publishes the packages that the registry does not have yet.
 * `.github/workflows/release.yml` runs it for a tag; `npm run rehearse` runs the steps of that workflow with a
 * registry on this machine.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { manifestOf, publicPackages, versionOf } from './packages.ts'

const packages = publicPackages()
const version = versionOf(packages)
refuseUnlessReady()
run('npm', 'run', '--silent', 'build')
nameRepository()
// The tag that started this release is enough; no tag is added for each package.
run('npm', 'run', 'changeset', '--', 'publish', '--no-git-tag')

/** Refuses to publish a commit that is not ready: with unused changesets, or with another version than the tag. */
function refuseUnlessReady(): void {
  const left = readdirSync('.changeset').filter((name) => name.endsWith('.md') && name !== 'README.md')
  if (left.length > 0)
    throw new Error(
      `${left.length} changesets are not part of a version yet: run \`npm run version-packages\` first`
    )
  const { GITHUB_REF_TYPE: kind, GITHUB_REF_NAME: tag } = process.env
  if (kind === 'tag' && tag !== `v${version}`)
    throw new Error(`The tag is ${tag}, and the packages have version ${version}`)
}

/**
 * Adds the repository to each package.json: npm refuses the provenance of a package that does not name the repository
 * in which it was built.
 */
function nameRepository(): void {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository } = process.env
  const url =
    server === undefined || repository === undefined
      ? manifestOf('.').repository?.url
      : `git+${server}/${repository}.git`
  if (url === undefined) return
  for (const { folder } of packages) {
    const file = join(folder, 'package.json')
    const text = readFileSync(file, 'utf8')
    const named = { ...JSON.parse(text), repository: { type: 'git', url, directory: folder } }
    writeFileSync(file, `${JSON.stringify(named, null, 2)}\n`)
  }
}

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: 'inherit' })
}
