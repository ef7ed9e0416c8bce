/**
 * The current place on the page: a screen and its path. The place is stored after the `#` of the address, so that
 * links, the back button and reloading work.
 */
import { useEffect, useState } from 'preact/hooks'

/** The address of a place on the page. */
export function hrefOf(screen: string, ...path: readonly string[]): string {
  return `#/${[screen, ...path].map(encodeURIComponent).join('/')}`
}

/** Reads the part of the address after the `#`. */
export function routeOf(hash: string): readonly string[] {
  return hash
    .replace(/^#?\/?/, '')
    .split('/')
    .map(decoded)
}

/** The parts of the current address: the screen's id, followed by its path. */
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
    // The user has typed an invalid escape sequence.
    return part
  }
}
