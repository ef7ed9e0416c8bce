/** Measures the size of an installation. */
import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

export interface Footprint {
  readonly packages: number
  readonly bytes: number
}

/** Counts the packages that are installed in a folder, and the bytes of their files. */
export function footprintOf(folder: string): Footprint {
  const modules = join(folder, 'node_modules')
  return { packages: packagesIn(modules), bytes: bytesIn(modules) }
}

function packagesIn(modules: string): number {
  if (!existsSync(modules)) return 0
  return readdirSync(modules)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(modules, name)).map((own) => join(name, own)) : name
    )
    .reduce((sum, name) => sum + 1 + packagesIn(join(modules, name, 'node_modules')), 0)
}

function bytesIn(folder: string): number {
  return readdirSync(folder)
    .map((name) =>
      lstatSync(join(folder, name)).isDirectory()
        ? bytesIn(join(folder, name))
        : lstatSync(join(folder, name)).size
    )
    .reduce((sum, bytes) => sum + bytes, 0)
}
