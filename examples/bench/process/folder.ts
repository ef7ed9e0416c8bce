/** The folder of the bench's package.json. The compiled files are one folder deeper than the sources. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const BENCH_FOLDER = folderOfPackage(import.meta.dirname)

function folderOfPackage(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : folderOfPackage(dirname(folder))
}

const ROOT = dirname(dirname(BENCH_FOLDER))

/** A text without the path of this clone, because reports are read on other machines. */
export const withoutPaths = (text: string): string => text.replaceAll(`${ROOT}/`, '')
