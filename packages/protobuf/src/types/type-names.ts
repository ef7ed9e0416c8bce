/** The names that messages, enums and services have in TypeScript. */
import type { DescEnum, DescMessage, DescService } from '@bufbuild/protobuf'
import { pascalCase } from '../words.ts'

type Named = DescEnum | DescMessage | DescService

/** Names that a type must not hide, or cannot have. */
const TAKEN: ReadonlySet<string> = new Set(
  (
    'Array AsyncIterable Buffer Date Object Promise Record Uint8Array any bigint boolean never null number object string ' +
    'symbol undefined unknown void break case catch class const continue debugger default delete do else enum export ' +
    'extends false finally for function if import in instanceof interface let new return static super switch this throw ' +
    'true try type typeof var while with yield await'
  ).split(' ')
)

/** Types with their names, each of which only one type has. */
export class TypeNames {
  readonly #names = new Map<string, string>()

  /** @param suffixes endings with which types get further names: `Init` of `OrderInit` */
  constructor(types: readonly Named[], suffixes: readonly string[]) {
    const sorted = [...types].sort((a, b) => (a.typeName < b.typeName ? -1 : 1))
    const simple = new Map<string, number>()
    for (const type of sorted) simple.set(shortName(type), (simple.get(shortName(type)) ?? 0) + 1)
    const used = new Set<string>(TAKEN)
    for (const type of sorted) {
      const short = shortName(type)
      const first = (simple.get(short) ?? 0) > 1 ? `${pascalCase(type.file.proto.package)}${short}` : short
      let name = first
      for (let n = 1; isUsed(name, suffixes, used); n++)
        name = n === 1 && type.kind === 'service' ? `${first}Service` : `${first}_${n}`
      for (const suffix of ['', ...suffixes]) used.add(name + suffix)
      this.#names.set(type.typeName, name)
    }
  }

  of({ typeName }: { readonly typeName: string }): string {
    return this.#names.get(typeName) as string
  }
}

function isUsed(name: string, suffixes: readonly string[], used: ReadonlySet<string>): boolean {
  return ['', ...suffixes].some((suffix) => used.has(name + suffix))
}

/** The name without its package: `Order_Item` for an `Item` within an `Order`. */
function shortName({ typeName, file }: Named): string {
  const scope = file.proto.package
  return (scope === '' ? typeName : typeName.slice(scope.length + 1)).replaceAll('.', '_')
}
