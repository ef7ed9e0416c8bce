/** The packages that are published: all of `packages/`, `engines/` and `tools/` that are not private. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The fields of a `package.json` that a release reads. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly license?: string
  readonly description?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly repository?: { readonly url: string }
}

/** A package of this repository. */
export interface PublicPackage extends Manifest {
  /** The path from the root of the repository. */
  readonly folder: string
}

/** The folders of the repository that have packages. */
export const ROWS = ['packages', 'engines', 'tools'] as const

/** Reads the `package.json` of a folder. */
export function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

/** The public packages of a repository. @param root the folder of the repository */
export function publicPackages(root = '.'): PublicPackage[] {
  return ROWS.flatMap((row) => readdirSync(join(root, row)).map((name) => join(row, name)))
    .sort()
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => ({ ...manifestOf(join(root, folder)), folder }))
    .filter((each) => each.private !== true)
}

/** The version of all packages, which must be the same. @throws {Error} the versions differ */
export function versionOf(packages: readonly Manifest[]): string {
  const [version = '', ...others] = new Set(packages.map((each) => each.version))
  if (others.length > 0) throw new Error(`The packages have several versions: ${[version, ...others]}`)
  return version
}
