package columns;

/** Some columns of a row: null where nothing was written. A row that changes is another row. */
record Row(Cell[] cells) {
    /** A row with the later cell of both in each column. */
    Row with(Row other) {
        Cell[] merged = cells.clone();
        for (int i = 0; i < merged.length; i++) {
            if (other.cells[i] != null) {
                merged[i] = Cell.later(merged[i], other.cells[i]);
            }
        }
        return new Row(merged);
    }

    long bytes() {
        long bytes = 0;
        for (Cell cell : cells) {
            bytes += cell == null ? 0 : cell.value().length + Cell.OVERHEAD_BYTES;
        }
        return bytes;
    }
}
