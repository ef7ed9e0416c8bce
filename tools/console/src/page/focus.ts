/**
 * Moves the keyboard focus when the focused element is removed: by its button's action, by an update of the server,
 * or by a link to another screen. The focus moves to the nearest element; a browser would move it to the top of the
 * page.
 */

const FOCUSABLE = 'a[href], button, input, select, textarea, summary, [tabindex="0"]'

/**
 * The neighbours of the focused element. They are noted while it exists, because they cannot be found after its
 * removal.
 */
interface Around {
  readonly parent: Element
  /** The parent's children after the focused one, followed by the preceding ones, the nearest first. */
  readonly siblings: readonly Element[]
}

/** Moves the focus on a page for as long as the page is open. */
export function keepFocus(page: Element): void {
  let focused: Element | undefined
  let around: readonly Around[] = []
  page.addEventListener('focusin', ({ target }) => {
    focused = target as Element
    around = aroundOf(focused, page)
  })
  page.addEventListener('focusout', ({ target }) => {
    // The user has clicked on an element that cannot have the focus. An element that was removed is no longer
    // connected at this time.
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

/** Moves the focus to the heading of the screen. */
export function focusScreen(): void {
  heading(document)?.focus()
}

function aroundOf(element: Element, page: Element): Around[] {
  const all: Around[] = []
  for (let child = element; child !== page && child.parentElement !== null; child = child.parentElement) {
    const parent = child.parentElement
    // The search for near elements ends at the border of the screen.
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
