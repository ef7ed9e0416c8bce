/** Where the page is: a screen and what of it, kept behind the `#` of the address, so that links, back and reload work. */
import { useEffect, useState } from 'preact/hooks'

/** The address of a place on the page. */
export function hrefOf(screen: string, ...path: readonly string[]): string {
  return `#/${[screen, ...path].map(encodeURIComponent).join('/')}`
}

/** Reads what is behind the `#`. */
export function routeOf(hash: string): readonly string[] {
  return hash
    .replace(/^#?\/?/, '')
    .split('/')
    .map(decoded)
}

/** Parts of the address as it is now: the screen's id, and the rest. */
export function useRoute(): readonly string[] {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const changed = () => setHash(location.hash)
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return routeOf(hash)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // Typed by hand.
    return part
  }
}
