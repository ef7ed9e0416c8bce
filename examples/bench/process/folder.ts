/** Where the bench is: the folder of its package.json, whether this runs as source or compiled, one folder deeper. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const BENCH_FOLDER = folderOfPackage(import.meta.dirname)

function folderOfPackage(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : folderOfPackage(dirname(folder))
}

const ROOT = dirname(dirname(BENCH_FOLDER))

/** A text without the place where this clone is: reports are read elsewhere. */
export const withoutPaths = (text: string): string => text.replaceAll(`${ROOT}/`, '')
