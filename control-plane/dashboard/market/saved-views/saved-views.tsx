import { useRouter } from '@tanstack/react-router'
import type { MouseEvent } from 'react'
import { useState } from 'react'
import { SavedViewsDocument } from '#control-plane/dashboard/data/documents/saved-views.ts'
import { useViewer } from '#control-plane/dashboard/data/session.tsx'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { MenuButton } from '#control-plane/dashboard/ui/menu-button.tsx'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'
import type { ListedView } from './edit-views.tsx'
import { EditViews, NewView } from './edit-views.tsx'
import type { SavedScreen } from './view-query.ts'
import { sortedQuery, VIEW_PATHS, viewQueryOf } from './view-query.ts'

/** The height that a full menu takes. */
const MENU_PX = 300

type Props = {
  readonly screen: SavedScreen
  /** The filters now, as the address has them. */
  readonly search: object
}

/** The saved filters of a screen, which a signed-in reader opens, saves, renames and deletes. */
export function SavedViews({ screen, search }: Props) {
  const { kind } = useViewer()
  const [isMenuOpened, setMenuOpened] = useState(false)
  const [opened, setOpened] = useState<'new' | 'edit'>()
  const { data, error } = useScreen(SavedViewsDocument, { screen }, { isOn: isMenuOpened && kind === 'session' })
  // A key has no views: they are kept for a person.
  if (kind !== 'session') return null
  const views = data?.savedViews ?? undefined
  const query = viewQueryOf(search)
  const close = () => setOpened(undefined)
  return (
    <div className="views">
      <MenuButton text="Saved views" heightPx={MENU_PX} onOpen={() => setMenuOpened(true)}>
        {(leave) => (
          <>
            {error === null ? null : <ErrorNotice error={error} />}
            <ViewLinks screen={screen} views={views} query={query} onOpen={leave} />
            <button
              type="button"
              className="menu-item"
              disabled={query === ''}
              onClick={() => {
                leave()
                setOpened('new')
              }}
            >
              {query === '' ? 'Choose a filter to save a view' : 'Save these filters'}
            </button>
            {views === undefined || views.length === 0 ? null : (
              <button
                type="button"
                className="menu-item"
                onClick={() => {
                  leave()
                  setOpened('edit')
                }}
              >
                Edit views
              </button>
            )}
          </>
        )}
      </MenuButton>
      {opened === 'new' ? <NewView screen={screen} query={query} onClose={close} /> : null}
      {opened === 'edit' ? <EditViews views={views ?? []} onClose={close} /> : null}
    </div>
  )
}

type LinksProps = {
  readonly screen: SavedScreen
  readonly views: readonly ListedView[] | undefined
  readonly query: string
  readonly onOpen: () => void
}

function ViewLinks({ screen, views, query, onOpen }: LinksProps) {
  const { history } = useRouter()
  if (views === undefined) return null
  if (views.length === 0) return <p className="menu-note">No saved views yet.</p>
  const open = (event: MouseEvent, address: string) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    onOpen()
    history.push(address)
  }
  return (
    <ul className="menu-choices" aria-label="Saved views">
      {views.map((view) => {
        // The path is the screen's own. A stored query cannot lead elsewhere.
        const address = `${VIEW_PATHS[screen]}?${new URLSearchParams(view.query)}`
        return (
          <li key={view.id}>
            <a
              href={address}
              className="menu-item"
              aria-current={sortedQuery(view.query) === query ? 'true' : undefined}
              onClick={(event) => open(event, address)}
            >
              {view.name}
            </a>
          </li>
        )
      })}
    </ul>
  )
}
