/**
 * The sections after a report's contests, as rows of text: sizes of installations, and what types cost the compiler.
 */
import type { Comparison, Installation, TypeChecking } from './schema.ts'

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

/** The remark on the sizes. */
export const SIZES_REMARK =
  'Server and client with everything that npm installs for them, as it lies on the disk, but TypeScript itself; of this project what would be published.'

export const typesHeader: readonly string[] = [
  'patterns in one chain',
  'instantiations of types',
  'seconds, libraries included'
]

export const typesRows = (types: readonly TypeChecking[]): string[][] =>
  types.map(({ patterns, instantiations, seconds }) => [
    String(patterns),
    instantiations.toLocaleString('en'),
    seconds.toFixed(1)
  ])

const TYPES_REMARK =
  'A service of this project, with and without schemas, streams, events, hooks and macros, and its client.'

/** A table that does not belong to a contest. */
export interface Section {
  readonly title: string
  readonly remark: string
  /** The rows; the first one is the header. */
  readonly rows: readonly (readonly string[])[]
}

/** The sections after the contests. */
export const sectionsOf = ({ sizes, types }: Comparison): Section[] => [
  ...(sizes === undefined
    ? []
    : [{ title: 'Installed size', remark: SIZES_REMARK, rows: [sizesHeader, ...sizeRows(sizes)] }]),
  ...(types === undefined
    ? []
    : [{ title: 'Type checking', remark: TYPES_REMARK, rows: [typesHeader, ...typesRows(types)] }])
]
