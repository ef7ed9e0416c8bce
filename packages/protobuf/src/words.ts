/** Names of protobuf made of names that users chose. */
import { protoCamelCase } from '@bufbuild/protobuf/reflect'

/** The words of a name: `orders.getTotal` has three. */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
}

/** `orders.get-total` → `OrdersGetTotal`; empty if there are no letters. */
export function pascalCase(text: string): string {
  const name = wordsOf(text)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('')
  return /^\d/.test(name) ? `N${name}` : name
}

/** `OrdersGetTotal` → `orders_get_total`. */
export function snakeCase(text: string): string {
  const name = wordsOf(text)
    .map((word) => word.toLowerCase())
    .join('_')
  return /^\d/.test(name) ? `n${name}` : name
}

/** The name of a field for a property, and the option `json_name` if protobuf would not derive the property from it. */
export function fieldNames(
  property: string,
  taken: ReadonlySet<string>
): { readonly name: string; readonly jsonName: string | undefined } {
  const first = /^[a-z_][a-z0-9_]*$/.test(property) ? property : snakeCase(property) || 'field'
  let name = first
  for (let n = 2; taken.has(name); n++) name = `${first}_${n}`
  return { name, jsonName: protoCamelCase(name) === property ? undefined : property }
}

/** The name of the value of an enum that stands for nothing, which every enum has. */
export function zeroName(name: string): string {
  return `${snakeCase(name).toUpperCase()}_UNSPECIFIED`
}

/** The name of an enum's value. Values of all enums share one scope, so each begins with the name of its enum. */
export function valueName(name: string, literal: string): string {
  return `${snakeCase(name)}_${snakeCase(literal) || 'empty'}`.toUpperCase()
}
