/**
 * A rehearsal of a release in a copy of the current commit: changesets, if there are any, set the versions, then the
 * steps of the workflow `release.yml` run. Two things only exist at GitHub and are left out: trusted publishing, and the
 * provenance that it adds.
 */
import { readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { YAML } from 'bun'
import { type PublicPackage, publicPackages, versionOf } from '../release/packages.ts'
import { type Place, run } from './commands.ts'

interface Workflow {
  readonly jobs: { readonly publish: { readonly steps: readonly { readonly run?: string }[] } }
}

export interface Released {
  readonly version: string
  readonly packages: readonly PublicPackage[]
}

/**
 * Versions and publishes.
 * @param from the repository, with the environment of its user
 * @param place the copy; its environment makes npm use the registry
 */
export async function release(from: Place, place: Place): Promise<Released> {
  const { folder } = place
  rmSync(folder, { recursive: true, force: true })
  await run(['git', 'clone', '--quiet', '--no-hardlinks', from.folder, folder], from)
  await writeVersions(from.folder, place)
  const workflow = YAML.parse(readFileSync(join(folder, '.github/workflows/release.yml'), 'utf8')) as Workflow
  const steps = workflow.jobs.publish.steps.flatMap((step) => step.run ?? [])
  for (const step of steps) await run(['bash', '-e', '-c', step], place)
  const packages = publicPackages(folder)
  return { version: versionOf(packages), packages }
}

/**
 * Runs the steps of the pull request that sets the versions, in a folder with all packages installed. A commit without
 * changesets has its version.
 */
async function writeVersions(root: string, place: Place): Promise<void> {
  if (!readdirSync(join(place.folder, '.changeset')).some((name) => name.endsWith('.md'))) return
  const modules = join(place.folder, 'node_modules')
  symlinkSync(join(root, 'node_modules'), modules)
  await run(['npm', 'run', 'version-packages'], place)
  rmSync(modules)
  const git = ['git', '-c', 'user.name=rehearsal', '-c', 'user.email=rehearsal@localhost']
  await run([...git, 'add', '--all'], place)
  await run([...git, 'commit', '--quiet', '--message', 'Version packages'], place)
}
