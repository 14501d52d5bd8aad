// Camera: which stretch of the axis is seen, [begin, end) of [0, extent).

class Camera {
  constructor(changed) {
    this.changed = changed;
    this.unit = 'time';
    this.extent = 1;
    this.begin = 0;
    this.end = 1;
  }

  setAxis(unit, extent, begin, end) {
    this.unit = unit;
    this.extent = extent;
    this.show(begin, end);
  }

  get length() {
    return this.end - this.begin;
  }

  shortest() {
    return Math.min(this.extent, this.unit === 'time' ? 100 : 4);
  }

  show(begin, end) {
    const length = Math.min(Math.max(end - begin, this.shortest()), this.extent);
    const middle = (begin + end) / 2;
    this.begin = Math.min(Math.max(middle - length / 2, 0), this.extent - length);
    this.end = this.begin + length;
    this.changed();
  }

  zoom(factor, about) {
    const length = Math.min(Math.max(this.length * factor, this.shortest()), this.extent);
    const share = (about - this.begin) / this.length;
    const begin = Math.min(Math.max(about - share * length, 0), this.extent - length);
    this.show(begin, begin + length);
  }

  pan(positions) {
    const length = this.length;
    const begin = Math.min(Math.max(this.begin + positions, 0), this.extent - length);
    this.show(begin, begin + length);
  }

  fit() {
    this.show(0, this.extent);
  }

  fits() {
    return this.length >= this.extent;
  }
}
