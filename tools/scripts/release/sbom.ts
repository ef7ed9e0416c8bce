/**
 * `npm run sbom`, after `npm run release`: writes a software bill of materials in CycloneDX for each package: which
 * packages its installation contains, with their versions and licences. These files are attached to the release. Each
 * package is installed in an empty folder: in the workspace, npm would describe the workspace.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleepSync } from 'bun'
import { type PublicPackage, publicPackages } from './packages.ts'

const FOLDER = 'dist/sbom'
/** How often to look for a package: the registry shows a package only some time after it was published. */
const ATTEMPTS = 10
/** Milliseconds between two attempts. */
const PAUSE = 15_000

mkdirSync(FOLDER, { recursive: true })
for (const each of publicPackages()) {
  const text = billOf(each)
  const file = join(FOLDER, `${each.name.replace(/^@/, '').replace('/', '-')}-${each.version}.cdx.json`)
  writeFileSync(file, text)
  const { components } = JSON.parse(text) as { readonly components: readonly unknown[] }
  console.log(`${file}: ${components.length} components`)
}

function billOf({ name, version, license, description, dependencies }: PublicPackage): string {
  const folder = mkdtempSync(join(tmpdir(), 'sbom-'))
  const npm = (...args: readonly string[]) =>
    execFileSync('npm', args, { cwd: folder, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  try {
    const manifest = { name, version, license, description, dependencies }
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
    retried(() => npm('install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--prefer-online'))
    const which = ['--package-lock-only', '--omit=dev', '--omit=peer']
    return npm('sbom', '--sbom-format=cyclonedx', '--sbom-type=library', ...which)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function retried(act: () => void): void {
  for (let attempt = 1; ; attempt++)
    try {
      return act()
    } catch (error) {
      if (attempt === ATTEMPTS || !/ETARGET|E404/.test(String((error as { stderr?: string }).stderr)))
        throw error
      sleepSync(PAUSE)
    }
}
