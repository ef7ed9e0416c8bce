/** Where the bench is: the folder of its package.json, whether this runs as source or compiled, one folder deeper. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const BENCH_FOLDER = folderOfPackage(import.meta.dirname)

function folderOfPackage(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : folderOfPackage(dirname(folder))
}
