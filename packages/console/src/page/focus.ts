/**
 * Keeps the focus when its element is removed: by the action of its button, by news of the server, by a link to another
 * screen. It then goes to the nearest element; a browser would begin at the top of the page.
 */

const FOCUSABLE = 'a[href], button, input, select, textarea, summary, [tabindex="0"]'

/** The neighbours of the focused element, noted before it is removed: afterwards nothing tells them. */
interface Around {
  readonly parent: Element
  /** Children of the parent behind the one that has the focus, then the ones in front of it, the nearest first. */
  readonly siblings: readonly Element[]
}

/** Watches a page for as long as it is open. */
export function keepFocus(page: Element): void {
  let focused: Element | undefined
  let around: readonly Around[] = []
  page.addEventListener('focusin', ({ target }) => {
    focused = target as Element
    around = aroundOf(focused, page)
  })
  page.addEventListener('focusout', ({ target }) => {
    // Somebody has clicked where nothing takes the focus. What is removed is not connected any more by then.
    setTimeout(() => {
      if (focused === target && focused.isConnected && document.activeElement !== focused) focused = undefined
    })
  })
  new MutationObserver(() => {
    if (focused === undefined || focused.isConnected || document.activeElement !== document.body) return
    const next = nearest(around) ?? heading(page)
    focused = undefined
    next?.focus()
  }).observe(page, { childList: true, subtree: true })
}

/** Gives the focus to the heading of the screen. */
export function focusScreen(): void {
  heading(document)?.focus()
}

function aroundOf(element: Element, page: Element): Around[] {
  const all: Around[] = []
  for (let child = element; child !== page && child.parentElement !== null; child = child.parentElement) {
    const parent = child.parentElement
    // Outside of the screen nothing is near.
    if (parent.querySelector('main') !== null) break
    const children = [...parent.children]
    const at = children.indexOf(child)
    all.push({ parent, siblings: [...children.slice(at + 1), ...children.slice(0, at).reverse()] })
  }
  return all
}

function nearest(around: readonly Around[]): HTMLElement | undefined {
  for (const { parent, siblings } of around) {
    if (!parent.isConnected) continue
    for (const sibling of siblings) {
      if (sibling.parentElement !== parent) continue
      const found = sibling.matches(FOCUSABLE) ? sibling : sibling.querySelector(FOCUSABLE)
      if (found !== null) return found as HTMLElement
    }
  }
  return undefined
}

function heading(page: Document | Element): HTMLElement | undefined {
  const found = page.querySelector<HTMLElement>('main h2') ?? page.querySelector<HTMLElement>('main')
  if (found !== null) found.tabIndex = -1
  return found ?? undefined
}
