/** Installed sizes as rows of text, for every kind of report. */
import type { Installation } from './schema.ts'

export const sizesHeader: readonly string[] = [
  '',
  'installed MB',
  'files',
  'packages',
  'of it ours, packed kB'
]

export const sizeRows = (sizes: readonly Installation[]): string[][] =>
  sizes.map(({ target, bytes, files, packages, packedBytes }) => [
    target,
    (bytes / 1e6).toFixed(2),
    files.toLocaleString('en'),
    packages.toLocaleString('en'),
    packedBytes === 0 ? '–' : (packedBytes / 1e3).toFixed(0)
  ])

/** What the sizes are of. */
export const SIZES_REMARK =
  'Server and client with everything that npm installs for them, as it lies on the disk, but TypeScript itself; of this project what would be published.'
